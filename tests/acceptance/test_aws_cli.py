"""The AWS CLI from PyPI, with nothing but what `dovemq env` prints."""

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dovemq.testing.local_server import LocalServer
from tests.acceptance.programs import clean_environment, program, run

Aws = Callable[[str], Any]


@pytest.fixture
def aws(server: LocalServer, tmp_path: Path) -> Aws:
    """Runs `aws sqs …` in a shell that has evaluated `dovemq env`."""
    program("aws")
    env = clean_environment(tmp_path, AWS_PROFILE="nobody", AWS_SESSION_TOKEN="stale")
    port = server.endpoint_url.rpartition(":")[2]
    exports = f"dovemq env --data {shlex.quote(str(server.data))} --port {port}"

    def call(arguments: str) -> Any:
        line = f'eval "$({exports})"; aws --endpoint-url "$AWS_ENDPOINT_URL_SQS" sqs {arguments}'
        answer = run(["bash", "-euc", line], env=env)
        return json.loads(answer) if answer.strip() else None

    return call


def test_queue_is_created_and_a_message_sent_received_and_deleted(aws: Aws) -> None:
    url = aws("create-queue --queue-name by-cli --attributes DelaySeconds=0")["QueueUrl"]
    sent = aws(f"send-message --queue-url {url} --message-body 'hello world'")
    answer = aws(f"receive-message --queue-url {url} --wait-time-seconds 5")
    [message] = answer["Messages"]
    assert message["Body"] == "hello world"
    assert message["MessageId"] == sent["MessageId"]
    aws(f"delete-message --queue-url {url} --receipt-handle {message['ReceiptHandle']}")
    found = aws(f"get-queue-attributes --queue-url {url} --attribute-names All")["Attributes"]
    assert found["ApproximateNumberOfMessages"] == "0"
    assert found["ApproximateNumberOfMessagesNotVisible"] == "0"
