"""A real PostgreSQL on this machine, from Debian's packages or the path.

PostgreSQL refuses to run as root. For root it runs as another user, which keeps root's right to
pass directories, since those of tests are private. Everybody on this machine can use it.
"""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dovemq.pipeline.stopping import children
from dovemq.system.ports import free_ports
from dovemq.system.process_ids import ProcessId, process_id
from dovemq.testing.daemons import DaemonFailed
from dovemq.testing.local_cluster import HOST, PORTS, LocalCluster, ServerMissing, generator

USER: Final = "dovemq"
DATABASE: Final = "dovemq"
ANSWER_SECONDS_MAX: Final = 5.0
PREPARE_SECONDS_MAX: Final = 120.0
_DEBIAN: Final = Path("/usr/lib/postgresql")
_USERS: Final = ("postgres", "nobody")
_PROTOCOL: Final = 3 << 16
_HEAD: Final = struct.Struct(">ci")
_AUTHENTICATED: Final = b"R"


class LocalPostgres(LocalCluster):
    """One server; it trusts every client."""

    kind = "postgres"
    stop_signal = signal.SIGINT
    """The fast shutdown: SIGTERM would wait for clients to leave."""

    def __init__(self, directory: Path, port: int | None = None) -> None:
        super().__init__(directory, 1, port)

    def check(self) -> None:
        program("postgres")
        program("initdb")

    @property
    def url(self) -> str:
        return self.url_of(DATABASE)

    def url_of(self, database: str) -> str:
        """Returns the URL of a store in another database, which must exist."""
        return f"postgresql://{USER}@{HOST}:{self.ports[0]}/{database}"

    def choose_ports(self, port: int | None) -> Sequence[int]:
        return [port] if port is not None else free_ports(1, PORTS, generator())

    def command(self, node: int) -> Sequence[str]:
        data = self.node_directory(node) / "data"
        if not data.exists():
            self._create(data)
        settings = {
            "listen_addresses": HOST,
            "port": self.ports[node],
            "unix_socket_directories": "",
            "max_connections": 200,
        }
        options = (part for name, value in settings.items() for part in ("-c", f"{name}={value}"))
        return [*unprivileged(), program("postgres"), "-D", str(data), *options]

    def answers(self, node: int) -> bool:
        """Returns whether a client can open a session."""
        names = f"user\0{USER}\0database\0{DATABASE}\0\0".encode()
        with (
            contextlib.suppress(OSError),
            socket.create_connection((HOST, self.ports[node]), ANSWER_SECONDS_MAX) as connection,
        ):
            connection.sendall(struct.pack(">ii", len(names) + 8, _PROTOCOL) + names)
            with connection.makefile("rb") as stream:
                return stream.read(1) == _AUTHENTICATED
        return False

    def processes(self, node: int) -> list[ProcessId]:
        """Includes the sessions, which are groups of their own: a new server would refuse to start
        beside one that is left."""
        sessions = [process_id(pid) for pid, _ in children(self.pids[node])]
        return [*super().processes(node), *sessions]

    def _create(self, data: Path) -> None:
        """Makes the files of a server with an empty database.

        They get their name when they are complete, so that an interrupted start leaves none that
        look so.
        """
        partial = data.with_name("data.partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(mode=0o700)
        if (owner := other_user()) is not None:
            os.chown(partial, owner.pw_uid, owner.pw_gid)
        place = ["-D", str(partial)]
        names = [f"--username={USER}", "--encoding=UTF8", "--no-locale", "--auth=trust"]
        self._run([program("initdb"), *place, *names, "--no-sync"])
        single = [program("postgres"), "--single", *place, "postgres"]
        self._run(single, f"CREATE DATABASE {DATABASE}\n")
        partial.rename(data)

    def _run(self, command: Sequence[str], text: str = "") -> None:
        ran = subprocess.run(
            [*unprivileged(), *command],
            input=text,
            capture_output=True,
            text=True,
            cwd=self.directory,
            timeout=PREPARE_SECONDS_MAX,
        )
        if ran.returncode:
            raise DaemonFailed(f"{command[0]} failed:\n{ran.stdout}{ran.stderr}")


def program(name: str) -> str:
    """Returns a program of the newest server that Debian installed, or the first of the path."""
    debian = sorted(
        _DEBIAN.glob(f"*/bin/{name}"), key=lambda path: float(path.parents[1].name), reverse=True
    )
    found = str(debian[0]) if debian else shutil.which(name)
    if found is None:
        raise ServerMissing(name, "postgresql")
    return found


def other_user() -> pwd.struct_passwd | None:
    """Returns the user that the server runs as, if it is not the one of this process."""
    if os.geteuid() != 0:
        return None
    for name in _USERS:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise ServerMissing("a user for PostgreSQL, which refuses root,", "postgresql")


def unprivileged() -> list[str]:
    """Returns the words before a command that run it as another user, if that is needed."""
    owner = other_user()
    if owner is None:
        return []
    if (found := shutil.which("setpriv")) is None:
        raise ServerMissing("setpriv", "util-linux")
    ids = ["--reuid", str(owner.pw_uid), "--regid", str(owner.pw_gid), "--clear-groups"]
    return [found, *ids, "--inh-caps", "+dac_override", "--ambient-caps", "+dac_override"]
