"""Server processes on this machine that form one store: started, harmed, restarted and ended.

Owns what all kinds of stores share: the start of a directory's nodes, the faults of single nodes,
and the end. What a node runs, and when the cluster is ready, is left to each kind.
"""

import abc
import functools
import os
import random
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, Final

from dovemq.core.errors import DoveError
from dovemq.system.locked import locked
from dovemq.system.ports import Endpoint, HeldPorts, PortsTaken
from dovemq.system.process_ids import ProcessId, end_all, process_id
from dovemq.testing.cluster_record import (
    STOP_SECONDS_MAX,
    ClusterRecord,
    ClusterUnfit,
    read_record,
    write_record,
)
from dovemq.testing.daemons import Daemon, LocalService

HOST: Final = "127.0.0.1"
PORTS: Final = range(20_000, 22_700)
"""Ports that are, also with 10,000 added, below the range of client ports, so that no client takes
one while a node is down."""
READY_SECONDS_MAX: Final = 400.0
LOOK_SECONDS: Final = 0.1
REPORT_SECONDS: Final = 5.0
PORT_ATTEMPTS_MAX: Final = 5
_SETTLED: Final = "the nodes know of each other"


class ServerMissing(DoveError):
    """A program that a store needs is not installed."""

    def __init__(self, program: str, package: str) -> None:
        super().__init__(f"{program} is not installed: apt-get install {package}")


class LocalCluster(LocalService):
    """`with Kind(directory) as cluster:` then `cluster.url`; nodes have the numbers 0, 1, ….

    All files are in the directory. A cluster that is started again there has the same ports and
    its data.
    """

    kind: ClassVar[str]
    nodes_default: ClassVar[int] = 1
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM

    def __init__(self, directory: Path, nodes: int | None = None, port: int | None = None) -> None:
        """`port` is the first port; by default free ports are chosen at the first start."""
        super().__init__(directory.absolute())
        record = read_record(self.directory)
        self.nodes = nodes or (record.nodes if record else self.nodes_default)
        self._port = port
        self._ports: tuple[int, ...] = record.ports if record else ()
        self._daemons: dict[int, Daemon] = {}
        self._paused: set[int] = set()
        self._held = HeldPorts()
        self._ready = False
        self.report: Callable[[str], None] = lambda _: None
        """Is called with a line about each step of a start."""

    @abc.abstractmethod
    def check(self) -> None:
        """Raises an error if a program that the nodes need is missing."""

    @property
    @abc.abstractmethod
    def url(self) -> str:
        """The URL of the store for `dovemq serve --store`."""

    @abc.abstractmethod
    def choose_ports(self, port: int | None) -> Sequence[int]:
        """Returns the ports of a new cluster, from `port` on if it is given."""

    def endpoints(self) -> list[Endpoint]:
        """Returns all addresses that the nodes listen on."""
        return [(HOST, port) for port in self.ports]

    @abc.abstractmethod
    def command(self, node: int) -> Sequence[str]:
        """Prepares the directory of a node and returns the command that runs it."""

    @abc.abstractmethod
    def answers(self, node: int) -> bool:
        """Returns whether a started node takes requests."""

    def form(self) -> None:
        """Makes new nodes one cluster; they answer."""

    def settled(self) -> bool:
        """Returns whether the running nodes, which answer, know of each other."""
        return True

    def launch(self) -> None:
        self.check()
        with locked(self.directory / "cluster.lock"):
            self._claim()
            nodes = range(self.nodes)
            for node in nodes:
                self._start_node(node)
            self.report(f"{self.nodes} process(es) started")
            self._await_answers(nodes)
            self.form()
            self._await(self.settled, nodes, _SETTLED)
            self._ready = True
            self._record()

    def stop(self) -> None:
        """Ends all nodes, also paused ones."""
        daemons, self._daemons, self._paused = self._daemons, {}, set()
        self._ready = False
        self._held.release()
        if daemons:
            end_all(
                [process_id(daemon.process.pid) for daemon in daemons.values() if daemon.running],
                self.stop_signal,
                STOP_SECONDS_MAX,
            )
            self._record()
        for daemon in daemons.values():
            daemon.kill()

    def wait(self) -> None:
        """Waits until no node runs any more."""
        for daemon in list(self._daemons.values()):
            daemon.process.wait()

    def kill(self, node: int) -> None:
        """Kills a node, as a crash does."""
        for process in self.processes(node):
            process.signal(signal.SIGKILL)
        self._daemons.pop(node).kill()
        self._paused.discard(node)

    def pause(self, node: int) -> None:
        """Stops a node's work; its connections stay open and are not answered."""
        for process in self.processes(node):
            process.signal(signal.SIGSTOP)
        self._paused.add(node)

    def resume(self, node: int) -> None:
        for process in self.processes(node):
            process.signal(signal.SIGCONT)
        self._paused.discard(node)

    def processes(self, node: int) -> list[ProcessId]:
        """Returns all processes of a node, the one that starts others first."""
        return [process_id(self.pids[node])]

    def restart(self, node: int) -> None:
        """Starts a node that was killed, or ends and starts one that runs; waits until the running
        nodes know of each other."""
        if (daemon := self._daemons.pop(node, None)) is not None:
            end_all([process_id(daemon.process.pid)], self.stop_signal, STOP_SECONDS_MAX)
            daemon.kill()
            self._paused.discard(node)
        self._start_node(node)
        self._await_answers([node])
        self._await(self.settled, [node], _SETTLED)

    @property
    def running(self) -> list[int]:
        """The nodes that run and are not paused."""
        alive = (node for node, daemon in self._daemons.items() if daemon.running)
        return sorted(node for node in alive if node not in self._paused)

    @property
    def pids(self) -> dict[int, int]:
        """The process ids by node."""
        return {node: daemon.process.pid for node, daemon in self._daemons.items()}

    @property
    def ports(self) -> tuple[int, ...]:
        assert self._ports, "the cluster was never started"
        return self._ports

    def node_directory(self, node: int) -> Path:
        return self.directory / f"node-{node}"

    def log(self, node: int) -> Path:
        return self.node_directory(node) / "log"

    def _claim(self) -> None:
        """Checks that the directory is free, and takes the ports of its cluster or new ones."""
        if (record := read_record(self.directory)) is None:
            self._take_new_ports()
            return
        if record.kind != self.kind or record.nodes != self.nodes:
            found = f"holds {record.kind} with {record.nodes} node(s)"
            raise ClusterUnfit(self.directory, found, "name another directory")
        if record.running:
            end = f"dovemq dev {self.kind} down --data {self.directory}"
            raise ClusterUnfit(self.directory, "has a running cluster", f"end it by {end}")
        if self._port not in (None, record.ports[0]):
            found = f"holds a cluster with the port {record.ports[0]}"
            raise ClusterUnfit(self.directory, found, "leave out the port")
        self._ports = record.ports
        self._held.hold(self.endpoints(), new=False)

    def _take_new_ports(self) -> None:
        """Holds them at once, so that two clusters that start together differ."""
        for _ in range(PORT_ATTEMPTS_MAX):
            self._ports = tuple(self.choose_ports(self._port))
            if self._held.hold(self.endpoints(), new=self._port is None):
                return
        raise PortsTaken(len(self._ports), self._ports)

    def _start_node(self, node: int) -> None:
        self.node_directory(node).mkdir(exist_ok=True)
        command = self.command(node)
        self._daemons[node] = Daemon(command, os.environ, self.log(node), append=True)
        self._record()

    def _record(self) -> None:
        processes = {node: process_id(pid) for node, pid in self.pids.items()}
        known = (self.kind, self.url, self.nodes, self.ports, self.stop_signal)
        write_record(self.directory, ClusterRecord(*known, processes, self._ready))

    def _await_answers(self, nodes: Sequence[int]) -> None:
        for node in nodes:
            self._await(functools.partial(self.answers, node), nodes, f"node {node} answers")

    def _await(self, holds: Callable[[], bool], nodes: Sequence[int], what: str) -> None:
        """Waits; fails with the log of the first node that ends, or of the first one."""
        started = reported = time.monotonic()
        while not holds():
            now = time.monotonic()
            ended = [node for node in nodes if not self._daemons[node].running]
            if ended or now > started + READY_SECONDS_MAX:
                raise self._daemons[[*ended, *nodes][0]].failure()
            if now > reported + REPORT_SECONDS:
                self.report(f"waiting until {what}")
                reported = now
            time.sleep(LOOK_SECONDS)


def generator() -> random.Random:
    """Returns a generator for ports that differs between clusters."""
    return random.Random()
