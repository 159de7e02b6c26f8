"""A real HDFS on 127.0.0.1 for tests: a NameNode and a DataNode in one Java process."""

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dovemq.pipeline.session import check_java
from dovemq.testing.daemons import Daemon, LocalService
from dovemq.testing.hadoop_jars import spark_jars

_PROGRAM: Final = "org.apache.hadoop.test.MiniDFSClusterManager"
_READY: Final = re.compile(r"Started MiniDFSCluster -- namenode on port (\d+)")
_QUICK: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m")
_TELLS: Final = "-Dlog4j2.level=INFO"
"""Makes the log report that the file system is ready."""


class LocalHdfs(LocalService):
    """`with LocalHdfs(directory, jars) as hdfs:` then `hdfs.spark_uri("trace")`.

    `jars` are those of `hadoop_jars.hdfs_jars`. All files are in the directory; a file system that
    is started again is empty.
    """

    def __init__(self, directory: Path, jars: Sequence[Path]) -> None:
        super().__init__(directory)
        self._jars = jars
        self._port = ""

    def launch(self) -> None:
        class_path = os.pathsep.join(map(str, [*self._jars, spark_jars() / "*"]))
        command = (str(check_java()), *_QUICK, _TELLS, "-cp", class_path, _PROGRAM)
        arguments = ("-format", "-datanodes", "1")
        self.daemon = Daemon((*command, *arguments), os.environ, self.directory / "hdfs.log")
        self._port = self.daemon.await_line(_READY)[1]

    def spark_uri(self, prefix: str) -> str:
        return f"hdfs://127.0.0.1:{self._port}/{prefix}"

    def spark_settings(self) -> dict[str, str]:
        """Spark includes the HDFS client; with one DataNode there is one copy."""
        return {"spark.hadoop.dfs.replication": "1"}
