from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.datasource import CaseInsensitiveDict

from dovemq.pipeline.source.errors import OptionRefused
from dovemq.pipeline.source.options import (
    OPTIONS,
    ReceiveOptions,
    check_names,
    mode_of,
    receive_options,
    server_of,
    staging_of,
)

SECRET = "a-secret-that-nobody-may-see"
ENVIRONMENT = {
    "AWS_ENDPOINT_URL_SQS": "http://127.0.0.1:9324",
    "AWS_ACCESS_KEY_ID": "AKIAENVIRONMENT",
    "AWS_SECRET_ACCESS_KEY": SECRET,
    "AWS_SESSION_TOKEN": "token",
    "AWS_REGION": "eu-west-1",
}


def _options(**given: str) -> Any:
    """Returns options as Spark passes them."""
    return CaseInsensitiveDict(given)


def test_options_come_before_the_environment() -> None:
    given = _options(
        queue="orders",
        endpointUrl="http://example:1",
        accessKeyId="AKIAOPTION",
        secretAccessKey="other",
        region="us-west-2",
    )
    server = server_of(given, ENVIRONMENT)
    assert server.endpoint_url == "http://example:1"
    assert server.admin_url == "http://example:2"
    assert server.region == "us-west-2"
    assert server.key is not None
    assert server.key.key_id == "AKIAOPTION"
    assert server.session_token is None


def test_the_environment_serves_where_options_are_silent() -> None:
    server = server_of(_options(path="orders"), ENVIRONMENT)
    assert server.queue == "orders"
    assert server.endpoint_url == "http://127.0.0.1:9324"
    assert server.key is not None
    assert server.key.key_id == "AKIAENVIRONMENT"
    assert server.session_token == "token"


def test_no_text_of_a_server_shows_its_secrets() -> None:
    server = server_of(_options(queue="orders"), ENVIRONMENT)
    assert SECRET not in repr(server)
    assert "token" not in repr(server)


def test_a_url_of_a_queue_names_its_server() -> None:
    server = server_of(_options(queue="http://127.0.0.1:9324/000000000000/orders.fifo"), {})
    assert server.endpoint_url == "http://127.0.0.1:9324"
    assert server.fifo
    assert server.key is None


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "queue is missing"),
        ({"queue": "orders"}, "endpointUrl is missing"),
        ({"queue": "orders", "endpointUrl": "http://h:1", "accessKeyId": "A"}, "secretAccessKey"),
        ({"queue": "orders", "endpointUrl": "http://h:99999999"}, "is not a URL"),
    ],
)
def test_missing_options_are_reported(given: dict[str, str], told: str) -> None:
    with pytest.raises(OptionRefused, match=told):
        server_of(_options(**given), {})


def test_a_misspelt_option_is_refused() -> None:
    check_names(_options(QUEUE="orders", checkpointLocation="/c", queryName="q"))
    with pytest.raises(OptionRefused, match="maxmesagesperbatch is not known"):
        check_names(_options(maxMesagesPerBatch="1"))


def test_numbers_are_checked_without_being_shown() -> None:
    for given in ("many", "0", "100001"):
        with pytest.raises(OptionRefused, match="from 1 to 100000") as refused:
            receive_options(_options(maxMessagesPerBatch=given))
        assert given not in str(refused.value) or given == "0"


def test_heartbeats_come_three_times_in_a_lease() -> None:
    options = receive_options(_options(leaseSeconds="30", receivers="3"))
    assert options == ReceiveOptions(lease_seconds=30, heartbeat_seconds=10, receivers=3)
    assert receive_options(_options(heartbeatSeconds="7")).heartbeat_seconds == 7


def test_a_staging_location_is_checked_before_anything_runs() -> None:
    assert staging_of(_options(stagingLocation="file:///mnt/a%20b")) == "file:///mnt/a%20b"
    for given, reason in (("hdfs://b/c", "HDFS"), ("here", "absolute"), ("", "missing")):
        with pytest.raises(OptionRefused, match=reason):
            staging_of(_options(stagingLocation=given))


def test_tasks_are_from_1_to_256() -> None:
    for given in ("0", "257"):
        with pytest.raises(OptionRefused, match="receivers must be a whole number from 1 to 256"):
            receive_options(_options(receivers=given))


def test_the_option_of_an_earlier_form_is_refused() -> None:
    with pytest.raises(OptionRefused, match="partitions is not known"):
        check_names(_options(partitions="2"))


def test_batch_read_peeks_by_default() -> None:
    assert mode_of(_options()) == "peek"
    assert mode_of(_options(mode="DRAIN")) == "drain"
    with pytest.raises(OptionRefused, match="peek or drain"):
        mode_of(_options(mode="eat"))


def test_every_option_is_in_the_guide() -> None:
    guide = (Path(__file__).parents[3] / "docs/how-to/spark-queues.md").read_text()
    assert [name for name in OPTIONS if f"| `{name}` |" not in guide] == []
