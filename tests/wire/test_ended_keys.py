"""Keys that are no longer valid: removed, disabled, rotated or expired."""

from collections.abc import Awaitable, Callable

import pytest

from dovemq.core.access import AccessKey
from dovemq.core.accounts import Credential
from dovemq.http import HttpRequest
from dovemq.sqs.endpoint import SqsEndpoint
from dovemq.sqs.signature import Signer, Verifier
from tests.wire.speaking import JSON, QUERY, Answer, answer_of, request_of
from tests.wire.world import ACCOUNT, REGION, World

UNKNOWN = "The security token included in the request is invalid."
EXPIRED = "The security token included in the request is expired"


class Team:
    """An account with one key, whose requests are checked against the accounts of the service."""

    def __init__(self) -> None:
        self.world = World()
        self.accounts = self.world.service.accounts
        self.endpoint = SqsEndpoint(
            self.world.service, self.accounts, REGION, ACCOUNT, None, lambda: "0" * 36
        )

    async def join(self) -> Credential:
        self.number = (await self.accounts.add("team")).number
        return await self.accounts.add_credential(self.number)

    async def ask(self, key: Credential, protocol: str = JSON, secret: str = "") -> Answer:
        request = request_of(protocol, "ListQueues", {})
        response = await self.endpoint.handle(self.signed(request, key, secret))
        return answer_of(protocol, "ListQueues", response)

    def signed(self, request: HttpRequest, key: Credential, secret: str = "") -> HttpRequest:
        signer = Signer(AccessKey(key.key_id, secret or key.secret, self.number), region=REGION)
        headers = signer.sign(
            request.method,
            request.path,
            request.query,
            request.headers,
            request.body,
            self.world.clock.now_ms(),
        )
        return HttpRequest(
            request.method, request.path, request.query, headers, request.body, "peer"
        )


Ending = Callable[[Team, Credential], Awaitable[None]]


async def _remove(team: Team, key: Credential) -> None:
    await team.accounts.remove_credential(team.number, key.key_id)


async def _disable(team: Team, key: Credential) -> None:
    await team.accounts.change_credential(team.number, key.key_id, enabled=False)


async def _disable_account(team: Team, key: Credential) -> None:
    await team.accounts.change(team.number, enabled=False)


async def _remove_account(team: Team, key: Credential) -> None:
    await team.accounts.remove(team.number)


@pytest.mark.parametrize("ending", [_remove, _disable, _disable_account, _remove_account])
@pytest.mark.parametrize("protocol", [JSON, QUERY])
async def test_key_that_was_ended_is_unknown_from_then_on(ending: Ending, protocol: str) -> None:
    team = Team()
    key = await team.join()
    for _ in range(2):
        assert (await team.ask(key, protocol)).status == 200
    await ending(team, key)
    answer = await team.ask(key, protocol)
    assert (answer.status, answer.code, answer.text) == (
        403,
        "InvalidClientTokenId",
        UNKNOWN,
    )


@pytest.mark.parametrize("protocol", [JSON, QUERY])
async def test_rotated_key_serves_until_its_grace_is_over(protocol: str) -> None:
    team = Team()
    old = await team.join()
    assert (await team.ask(old, protocol)).status == 200
    new = await team.accounts.rotate(team.number, old.key_id, grace_ms=1_000)
    assert (await team.ask(new, protocol)).status == 200
    team.world.clock.advance(999)
    assert (await team.ask(old, protocol)).status == 200
    team.world.clock.advance(1)
    answer = await team.ask(old, protocol)
    assert (answer.status, answer.code, answer.text) == (403, "ExpiredToken", EXPIRED)
    assert (await team.ask(new, protocol)).status == 200


async def test_only_the_holder_of_the_secret_learns_that_a_key_expired() -> None:
    team = Team()
    await team.join()
    now_ms = team.world.clock.now_ms()
    key = await team.accounts.add_credential(team.number, expires_ms=now_ms)
    assert (await team.ask(key)).code == "ExpiredToken"
    assert (await team.ask(key, secret="x" * 40)).code == "SignatureDoesNotMatch"


async def test_disabled_key_tells_nobody_whether_the_secret_was_right() -> None:
    team = Team()
    key = await team.join()
    await _disable(team, key)
    for secret in (key.secret, "x" * 40):
        assert (await team.ask(key, secret=secret)).code == "InvalidClientTokenId"


class ReplacedKey:
    def __init__(self, key: AccessKey) -> None:
        self.key = key

    def find(self, key_id: str) -> AccessKey | None:
        return self.key if key_id == self.key.key_id else None


async def test_key_id_whose_secret_changed_does_not_verify_with_the_old_one() -> None:
    team = Team()
    old = await team.join()
    keyring = ReplacedKey(AccessKey(old.key_id, old.secret, team.number))
    team.endpoint = SqsEndpoint(
        team.world.service, keyring, REGION, ACCOUNT, None, lambda: "0" * 36
    )
    assert (await team.ask(old)).status == 200
    keyring.key = AccessKey(old.key_id, "another secret", team.number)
    assert (await team.ask(old)).code == "SignatureDoesNotMatch"
    assert (await team.ask(old, secret="another secret")).status == 200


async def test_key_that_moved_to_another_account_speaks_for_that_one() -> None:
    team = Team()
    key = await team.join()
    keyring = ReplacedKey(AccessKey(key.key_id, key.secret, "111111111111"))
    verifier = Verifier(keyring, region=REGION)
    request = team.signed(request_of(JSON, "ListQueues", {}), key)
    now_ms = team.world.clock.now_ms()
    assert verifier.verify(request, now_ms).account == "111111111111"
    keyring.key = AccessKey(key.key_id, key.secret, "222222222222")
    assert verifier.verify(request, now_ms).account == "222222222222"
