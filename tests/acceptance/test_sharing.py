"""The commands of `docs/how-to/share-a-queue.md`, as they stand there, by two accounts."""

import asyncio
import json
from pathlib import Path

from dovemq.bootstrap import open_service
from dovemq.core.accounts import Credential
from dovemq.stores.urls import EmbeddedPlace
from dovemq.testing.local_server import LocalServer
from tests.acceptance.programs import clean_environment, program, run
from tests.acceptance.test_documents import blocks

FRIEND = "222222222222"


def new_friend(data: Path) -> Credential:
    """A second account, made before the server starts."""

    async def made() -> Credential:
        service = (await open_service(EmbeddedPlace(data))).service
        try:
            await service.accounts.add("friend", number=FRIEND)
            return await service.accounts.add_credential(FRIEND)
        finally:
            await service.close()

    return asyncio.run(made())


def test_queue_is_shared_as_written(tmp_path: Path) -> None:
    program("aws")
    data = tmp_path / "data"
    credential = new_friend(data)
    steps = blocks("docs/how-to/share-a-queue.md")
    (_, allow), (_, use), (_, take_back), (_, policy), (_, set_policy) = steps
    (tmp_path / "policy.json").write_text(policy)
    with LocalServer(data) as server:
        owner = clean_environment(
            tmp_path, **server.env, QUEUE=f"{server.endpoint_url}/000000000000/shared"
        )
        friend = {
            **owner,
            "AWS_ACCESS_KEY_ID": credential.key_id,
            "AWS_SECRET_ACCESS_KEY": credential.secret,
        }

        def shell(script: str, env: dict[str, str]) -> str:
            return run(["bash", "-euo", "pipefail", "-c", script], env=env, cwd=tmp_path)

        shell("dovemq queue create shared", owner)
        refused = f"{{ {use} }} 2>told || grep NonExistentQueue told"
        assert "NonExistentQueue" in shell(refused, friend)
        shell(allow, owner)
        assert "MessageId" in shell(use, friend)
        shell(take_back, owner)
        assert "NonExistentQueue" in shell(refused, friend)
        shell(set_policy, owner)
        told = shell(
            'aws --endpoint-url "$AWS_ENDPOINT_URL_SQS" sqs receive-message --queue-url "$QUEUE" '
            "--attribute-names SenderId",
            friend,
        )
        [message] = json.loads(told)["Messages"]
        assert message["Body"] == "from a friend"
        assert message["Attributes"] == {"SenderId": FRIEND}
