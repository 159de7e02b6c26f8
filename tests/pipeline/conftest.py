"""One Spark session for all tests of a worker, on this machine; and storage that it can use.

With DOVETEST_STORAGE=1 a test that takes `s3` or `hdfs` gets a real server, started at its first
use, and `spark` reads and writes `s3.spark_uri("folder")` and `hdfs.spark_uri("folder")`. Jars
(15 MB and 56 MB) are fetched once, into `.cache/jars`.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dovemq.pipeline.errors import JavaUnfit
from dovemq.pipeline.session import SparkPlan, check_java, spark_session
from dovemq.testing.hadoop_jars import hdfs_jars, s3a_jars
from dovemq.testing.local_hdfs import LocalHdfs
from dovemq.testing.local_s3 import LocalS3
from dovemq.testing.maven_jars import JarsMissing
from tools.jars import JARS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STORAGE = os.environ.get("DOVETEST_STORAGE") == "1"
TEST_SECONDS_MAX = 900
QUICK_START = {
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "3",
    "spark.default.parallelism": "3",
}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Gives every test here time for a Spark session on a busy machine."""
    for item in items:
        if Path(__file__).parent in item.path.parents and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(TEST_SECONDS_MAX))


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
    more = {**QUICK_START, **_s3_classes()}
    with spark_session(SparkPlan(master="local[2]", memory="1g", more=more)) as session:
        yield session


@pytest.fixture(scope="session")
def s3_jars() -> list[Path]:
    """Jars for `LocalS3.spark_settings`, for tests that start their own Spark."""
    return _fetched(s3a_jars)


@pytest.fixture(scope="session")
def s3(
    spark: "SparkSession", s3_jars: list[Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LocalS3]:
    with LocalS3(tmp_path_factory.mktemp("s3")) as running:
        _use(spark, running.spark_settings(s3_jars))
        yield running


@pytest.fixture(scope="session")
def hdfs(spark: "SparkSession", tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalHdfs]:
    with LocalHdfs(tmp_path_factory.mktemp("hdfs"), _fetched(hdfs_jars)) as running:
        _use(spark, running.spark_settings())
        yield running


def _s3_classes() -> dict[str, str]:
    """Java finds only classes that it was started with, so the jars cannot be added later."""
    if not STORAGE:
        return {}
    try:
        return {"spark.jars": ",".join(map(str, s3a_jars(JARS)))}
    except JarsMissing:
        # Tests that need them skip or fail by themselves.
        return {}


def _fetched(fetch: Callable[[Path], list[Path]]) -> list[Path]:
    if not STORAGE:
        pytest.skip("it fetches jars of Hadoop: DOVETEST_STORAGE=1 runs it")
    try:
        return fetch(JARS)
    except JarsMissing as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))


def _use(session: "SparkSession", settings: Mapping[str, str]) -> None:
    """Hadoop settings may change while a session runs."""
    for name, value in settings.items():
        if name.startswith("spark.hadoop."):
            session.conf.set(name.removeprefix("spark.hadoop."), value)
