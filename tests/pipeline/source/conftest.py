from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dovemq.testing.local_server import LocalServer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.pipeline.source.spark_world import SparkWorld


@pytest.fixture(scope="session")
def queue_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    data = tmp_path_factory.mktemp("queues") / "data"
    with LocalServer(data) as running:
        yield running


@pytest.fixture
def world(
    spark: "SparkSession", queue_server: LocalServer, tmp_path: Path
) -> "Iterator[SparkWorld]":
    from dovemq.pipeline import datasource
    from tests.pipeline.source.spark_world import SparkWorld

    datasource.register(spark)
    made = SparkWorld(spark, queue_server, tmp_path)
    yield made
    made.close()
