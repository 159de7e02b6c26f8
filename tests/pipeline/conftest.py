"""One Spark session for all tests of a worker, on this machine."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from dovemq.pipeline.errors import JavaUnfit
from dovemq.pipeline.java import check_java
from dovemq.pipeline.session import SparkPlan, spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUICK_START = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "3",
    "spark.default.parallelism": "3",
}


@pytest.fixture(scope="session")
def java() -> None:
    try:
        check_java()
    except JavaUnfit as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def spark(java: None) -> "Iterator[SparkSession]":
    with spark_session(SparkPlan(master="local[2]", memory="1g", more=QUICK_START)) as session:
        yield session
