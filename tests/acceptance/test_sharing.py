"""The commands of `docs/how-to/share-a-queue.md`, as they stand there, by two accounts."""

import json
from pathlib import Path

from dovemq.testing.local_server import LocalServer
from tests.acceptance.documents import blocks
from tests.acceptance.programs import clean_environment, program, run

FRIEND = "222222222222"


def test_queue_is_shared_as_written(tmp_path: Path) -> None:
    program("aws")
    steps = blocks("docs/how-to/share-a-queue.md")
    (_, allow), (_, use), (_, take_back), (_, policy), (_, set_policy), (_, may) = steps
    (tmp_path / "policy.json").write_text(policy)

    def shell(script: str, env: dict[str, str]) -> str:
        return run(["bash", "-euo", "pipefail", "-c", script], env=env, cwd=tmp_path)

    with LocalServer(tmp_path / "data") as server:
        owner = clean_environment(
            tmp_path, **server.env, QUEUE=f"{server.endpoint_url}/000000000000/shared"
        )
        made = json.loads(shell(f"dovemq account add friend --number {FRIEND} --json", owner))
        key = {"AWS_ACCESS_KEY_ID": made["key_id"], "AWS_SECRET_ACCESS_KEY": made["secret"]}
        friend = {**owner, **key}
        shell("dovemq queue create shared", owner)
        refused = f"{{ {use} }} 2>reported || grep NonExistentQueue reported"
        assert "NonExistentQueue" in shell(refused, friend)
        shell(allow, owner)
        assert "MessageId" in shell(use, friend)
        shell(take_back, owner)
        assert "NonExistentQueue" in shell(refused, friend)
        shell(set_policy, owner)
        assert "by statement workers" in shell(may, owner)
        reported = shell(
            'aws --endpoint-url "$AWS_ENDPOINT_URL_SQS" sqs receive-message --queue-url "$QUEUE" '
            "--attribute-names SenderId",
            friend,
        )
        [message] = json.loads(reported)["Messages"]
        assert message["Body"] == "from a friend"
        assert message["Attributes"] == {"SenderId": FRIEND}
