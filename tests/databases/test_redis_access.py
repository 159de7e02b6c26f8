"""Redis with passwords, users of few rights, and TLS."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from dovemq.core.errors import StoreUnusable
from dovemq.stores.redis_cluster import open_database
from dovemq.stores.redis_cluster.location import parse_redis_url
from dovemq.testing.local_cluster import ServerMissing
from tests.acceptance.programs import missing
from tests.databases.redis_server import LoneRedis
from tests.databases.world import KEEP_MS, position, rows

SECRET = "hunter2"
RIGHTS = "~dovemq:* +@read +@write +@scripting +info +time +wait +asking +cluster|slots"
"""The rights that a user of DoveMQ needs, as the module of the URL says."""


def _started(directory: Path, settings: dict[str, str]) -> Iterator[LoneRedis]:
    try:
        with LoneRedis(directory, settings) as server:
            yield server
    except ServerMissing as error:
        missing(str(error))


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoneRedis]:
    directory = tmp_path_factory.mktemp("redis")
    users = directory / "users.acl"
    users.write_text(
        f"user default on >{SECRET} ~* +@all\n"
        f"user dove on >{SECRET}-of-dove {RIGHTS}\n"
        f"user blind on >{SECRET} ~* -@all +ping\n"
    )
    yield from _started(directory / "server", {"aclfile": str(users)})


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def files(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificates: of the server by address, of a client, and of another authority."""
    folder = tmp_path_factory.mktemp("tls")
    authority.cert_pem.write_to_path(folder / "ca.pem")
    trustme.CA().cert_pem.write_to_path(folder / "stranger.pem")
    for name, identity in (("server", "127.0.0.1"), ("client", "dove"), ("named", "db.example")):
        issued = authority.issue_cert(identity)
        issued.cert_chain_pems[0].write_to_path(folder / f"{name}.pem")
        issued.private_key_pem.write_to_path(folder / f"{name}.key")
    return folder


def _tls_settings(files: Path, name: str, clients: str) -> dict[str, str]:
    return {
        "tls-cert-file": str(files / f"{name}.pem"),
        "tls-key-file": str(files / f"{name}.key"),
        "tls-ca-cert-file": str(files / "ca.pem"),
        "tls-auth-clients": clients,
    }


@pytest.fixture(scope="module")
def secure(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoneRedis]:
    settings = _tls_settings(files, "server", "yes")
    yield from _started(tmp_path_factory.mktemp("redis"), settings)


@pytest.fixture(scope="module")
def misnamed(files: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LoneRedis]:
    """A server whose certificate has another name, and which asks its clients for none."""
    settings = _tls_settings(files, "named", "no")
    yield from _started(tmp_path_factory.mktemp("redis"), settings)


async def _works(url: str) -> bool:
    database = await open_database(parse_redis_url(url))
    try:
        assert SECRET not in database.name
        log = await database.open_log((1, 0), 1)
        await log.append(position(1, 0, 0), b"x" * 100_000, KEEP_MS)
        await log.trim(position(1, 0, 0))
        await log.set_bookmark(position(1, 0, 0))
        assert await log.bookmark() == position(1, 0, 0)
        found = await rows(log)
        await database.records.put("queue", "a", b"x", 0)
        assert len(await database.records.all("queue")) == 1
        assert await database.records.stamp()
        assert await database.records.remove("queue", "a", 1)
        await database.remove_log((1, 0))
        return found == [(position(1, 0, 0), b"x" * 100_000)]
    finally:
        await database.close()


async def _refusal(url: str) -> str:
    with pytest.raises(StoreUnusable) as told:
        await open_database(parse_redis_url(url))
    assert SECRET not in str(told.value)
    return str(told.value)


async def test_password_of_the_default_user_is_enough(guarded: LoneRedis) -> None:
    assert await _works(guarded.url.replace("//", f"//:{SECRET}@"))


async def test_user_with_the_documented_rights_can_do_everything(guarded: LoneRedis) -> None:
    assert await _works(guarded.url.replace("//", f"//dove:{SECRET}-of-dove@"))


@pytest.mark.parametrize(
    "login", ["", f":not-{SECRET}@", f"stranger:{SECRET}@", f"blind:{SECRET}@"]
)
async def test_wrong_login_is_refused_with_the_remedy(guarded: LoneRedis, login: str) -> None:
    told = await _refusal(guarded.url.replace("//", f"//{login}"))
    assert "correct user and password in the URL, or what the user may do" in told


async def test_tls_works_with_certificates_on_both_sides(secure: LoneRedis, files: Path) -> None:
    client = f"cert={files}/client.pem&key={files}/client.key"
    assert await _works(f"rediss://{secure.tls_address}?ca={files}/ca.pem&{client}")


async def test_server_of_another_authority_is_refused(secure: LoneRedis, files: Path) -> None:
    client = f"cert={files}/client.pem&key={files}/client.key"
    for ca in ("", f"ca={files}/stranger.pem&"):
        told = await _refusal(f"rediss://{secure.tls_address}?{ca}{client}")
        assert "CERTIFICATE_VERIFY_FAILED" in told
        assert "correct ca, cert, key or verify in the URL" in told


async def test_name_in_the_certificate_is_checked_unless_the_url_says_no(
    misnamed: LoneRedis, files: Path
) -> None:
    url = f"rediss://{misnamed.tls_address}?ca={files}/ca.pem"
    assert "IP address mismatch" in await _refusal(url)
    assert await _works(f"{url}&verify=ca")
    assert "CERTIFICATE_VERIFY_FAILED" in await _refusal(
        f"rediss://{misnamed.tls_address}?ca={files}/stranger.pem&verify=ca"
    )


@pytest.mark.parametrize("parameter", ["ca=absent.pem", "cert=absent.pem"])
async def test_missing_file_is_named(misnamed: LoneRedis, parameter: str) -> None:
    told = await _refusal(f"rediss://{misnamed.tls_address}?{parameter}")
    assert "a file of TLS cannot be used" in told
