"""Front ends behind HAProxy are restarted one after another while clients go on."""

import secrets
import time
from pathlib import Path

import boto3
import pytest

from dovemq.testing.local_redis import LocalRedisCluster
from tests.acceptance.deployments import FRONT_ENDS, SECONDS_MAX, deployed
from tests.acceptance.steady import SteadyLoad

SETTLED_SECONDS = 2
"""Time in which HAProxy finds out that a front end is there again."""
LEAVING = ("--leave-seconds", "5")
"""The default, which the configuration of HAProxy is made for."""


@pytest.mark.timeout(SECONDS_MAX)
def test_restart_of_all_front_ends_is_seen_by_no_client(
    redis_cluster: LocalRedisCluster, tmp_path: Path
) -> None:
    url = f"{redis_cluster.url}?prefix=rolling_{secrets.token_hex(4)}"
    with deployed(url, FRONT_ENDS, tmp_path, *LEAVING) as deployment:
        sqs = boto3.client("sqs", **deployment.boto3_kwargs)
        queue_url = sqs.create_queue(QueueName="steady")["QueueUrl"]
        sqs.close()
        load = SteadyLoad(deployment.boto3_kwargs, queue_url)
        with load.running():
            time.sleep(SETTLED_SECONDS)
            for server in deployment.servers:
                assert server.stop() == 0
                server.start()
                time.sleep(SETTLED_SECONDS)
        for server in deployment.servers:
            server.kill()
    assert load.errors == []
    assert load.sent
    assert load.sent <= load.received.keys()
