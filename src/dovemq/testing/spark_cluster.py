"""A real standalone Spark cluster on this machine, from the installed PySpark alone.

A master and its workers are processes on free ports of 127.0.0.1, with all files in one directory.
Everybody on this machine can use it: it is for tests and trials.
"""

import os
import re
from pathlib import Path
from typing import Final

from dovemq.pipeline.session import check_java
from dovemq.testing.daemons import Daemon, LocalService
from dovemq.testing.hadoop_jars import spark_jars

HOST: Final = "127.0.0.1"
_PACKAGE: Final = "org.apache.spark.deploy"
_MASTER_URL: Final = re.compile(r"Starting Spark master at (spark://\S+)")
_MASTER_PAGE: Final = re.compile(r"MasterWebUI.* started at (http://\S+)")
_LEADS: Final = re.compile(r"elected leader")
_WORKER_PORT: Final = re.compile(r"Starting Spark worker \S+:(\d+) with")
_REGISTERED: Final = re.compile(r"Successfully registered with master")
_LAUNCHED: Final = re.compile(r"Launching executor (\S+)/(\d+) on worker worker-\S+-(\d+)$", re.M)
_QUICK: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"


class SparkCluster(LocalService):
    """`with SparkCluster(directory) as cluster:` then `cluster.master_url`.

    `memory` and `cores` are those of each worker. At the end no process is left, executors
    included.
    """

    def __init__(
        self, directory: Path, workers: int = 2, cores: int = 1, memory: str = "1g"
    ) -> None:
        super().__init__(directory)
        self._count = workers
        self._offer = ("--cores", str(cores), "--memory", memory)
        self._workers: list[Daemon] = []

    def launch(self) -> None:
        check_java()
        self.daemon = self._started("Master", "master", "--port", "0")
        for pattern in (_MASTER_URL, _MASTER_PAGE, _LEADS):
            self.daemon.await_line(pattern)
        for number in range(self._count):
            work = self.directory / f"worker-{number}"
            offer = (*self._offer, "--work-dir", str(work), self.master_url)
            self._workers.append(self._started("Worker", work.name, *offer))
        for worker in self._workers:
            worker.await_line(_REGISTERED)

    def stop(self) -> None:
        daemons = [*self._workers, *([self.daemon] if self.daemon else [])]
        self._workers, self.daemon = [], None
        for daemon in daemons:
            daemon.ask_to_end()
        for daemon in daemons:
            daemon.end()

    def wait(self) -> int:
        """Waits until the master ends, and returns its exit code."""
        return self._lead.process.wait()

    def kill_worker(self, number: int) -> None:
        """Kills a worker and its executors, as a power loss of its machine would."""
        self._workers[number].kill()

    def worker_of(self, application: str, executor: str) -> int:
        """Returns the number of the worker that runs an executor."""
        ports = [int(worker.await_line(_WORKER_PORT)[1]) for worker in self._workers]
        for name, number, port in _LAUNCHED.findall(self._lead.log_text()):
            if (name, number) == (application, executor):
                return ports.index(int(port))
        raise LookupError(f"the master has started no executor {executor} of {application}")

    @property
    def master_url(self) -> str:
        return self._lead.await_line(_MASTER_URL)[1]

    @property
    def page_url(self) -> str:
        """The web page of the master."""
        return self._lead.await_line(_MASTER_PAGE)[1]

    @property
    def _lead(self) -> Daemon:
        assert self.daemon is not None, "the cluster is not running"
        return self.daemon

    def _started(self, kind: str, name: str, *args: str) -> Daemon:
        home = spark_jars().parent
        settings = self.directory / "conf"
        settings.mkdir(exist_ok=True)
        environment = {
            **os.environ,
            "SPARK_HOME": str(home),
            "SPARK_CONF_DIR": str(settings),
            "SPARK_LOCAL_IP": HOST,
            "SPARK_LOCAL_DIRS": str(self.directory / "scratch"),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": f"{_QUICK} -Dspark.master.rest.enabled=false",
        }
        program = (str(home / "bin" / "spark-class"), f"{_PACKAGE}.{kind.lower()}.{kind}")
        command = (*program, "--host", HOST, "--webui-port", "0", *args)
        return Daemon(command, environment, self.directory / f"{name}.log")
