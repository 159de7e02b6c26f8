"""Fetches Hadoop jars that are not part of PySpark, once, with Maven."""

import importlib.util
import re
from pathlib import Path
from typing import Final

from dovemq.pipeline.errors import SparkMissing
from dovemq.testing.maven_jars import Dependency, JarsMissing, maven_jars

AWS_SDK: Final = "2.35.4"
"""The version that hadoop-aws 3.5.0 needs. Its bundle of all services has 686 MB; the parts for
S3 have 15 MB without what Spark has."""
JUNIT: Final = "5.11.4"
"""A dependency of Hadoop's mini cluster that it does not include."""
_VERSION: Final = re.compile(r"hadoop-client-api-(.+)\.jar\Z")


def hdfs_jars(cache: Path) -> list[Path]:
    """Returns the jars of `LocalHdfs` (57 MB)."""
    version = hadoop_version()
    mini: Dependency = ("org.apache.hadoop", "hadoop-client-minicluster", version, ("*",))
    junit: Dependency = ("org.junit.jupiter", "junit-jupiter-api", JUNIT, ())
    return maven_jars(cache / f"hdfs-{version}", [mini, junit])


def s3a_jars(cache: Path) -> list[Path]:
    """Returns the jars for `s3a://` in Spark (15 MB), without those that Spark has."""
    version = hadoop_version()
    spark_has = ("io.netty", "org.slf4j", "commons-codec", "commons-logging")
    hadoop: Dependency = (
        *("org.apache.hadoop", "hadoop-aws", version),
        ("software.amazon.awssdk:bundle",),
    )
    parts = ("s3-transfer-manager", "sts")
    sdk: list[Dependency] = [("software.amazon.awssdk", part, AWS_SDK, spark_has) for part in parts]
    return maven_jars(cache / f"s3a-{version}", [hadoop, *sdk])


def spark_jars() -> Path:
    """Returns the directory of PySpark's own jars."""
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise SparkMissing("pyspark")
    return Path(found.origin).parent / "jars"


def hadoop_version() -> str:
    for jar in spark_jars().iterdir():
        if found := _VERSION.search(jar.name):
            return found[1]
    raise JarsMissing(f"{spark_jars()} holds no hadoop-client-api")
