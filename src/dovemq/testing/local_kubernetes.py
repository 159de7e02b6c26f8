"""A Kubernetes control plane on 127.0.0.1, without a kubelet: KWOK makes pods run.

It is etcd, kube-apiserver with RBAC, kube-controller-manager and KWOK, as `tools/kubernetes.py`
builds them. Pods that name the node `NODE` become Running without a scheduler.
"""

import os
import random
import secrets
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

from dovemq.system.ports import free_ports
from dovemq.testing.daemons import START_SECONDS_MAX, Daemon, DaemonFailed

VERSION: Final = "v1.36.3"
PROGRAMS: Final = ("etcd", "kube-apiserver", "kube-controller-manager", "kwok")
STAGES: Final = "stages"
NODE: Final = "node-1"
LOOK_SECONDS: Final = 0.1
PORTS: Final = 3
PORTS_AMONG: Final = range(20_000, 30_000)
_KUBECONFIG: Final = """\
apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "{server}", certificate-authority: "{ca}"}}}}]
users: [{{name: u, user: {{token: "{token}"}}}}]
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
current-context: x
"""


def kubernetes_cache() -> Path:
    """The directory of the programs, outside the tree since they take long to build."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "dovemq" / f"kubernetes-{VERSION}"


def is_built(folder: Path) -> bool:
    return (folder / STAGES).is_dir() and all((folder / name).is_file() for name in PROGRAMS)


class LocalKubernetes:
    """A cluster for one test run; `with` starts and ends it."""

    def __init__(self, directory: Path, programs: Path) -> None:
        self.directory, self._programs = directory, programs
        self.token = secrets.token_urlsafe(16)
        ports = free_ports(PORTS, PORTS_AMONG, random.Random())
        self.server, self._etcd, self._peer = f"https://127.0.0.1:{ports[0]}", ports[1], ports[2]
        self.certificate = directory / "certificates" / "apiserver.crt"
        self.kubeconfig = directory / "kubeconfig"
        self._daemons: list[Daemon] = []

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def stop(self) -> None:
        for daemon in reversed(self._daemons):
            daemon.ask_to_end()
            daemon.end()
        self._daemons.clear()

    def _start(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        self._write_secrets()
        etcd = f"http://127.0.0.1:{self._etcd}"
        self._run_etcd(etcd)
        self._run_apiserver(etcd)
        self._await_ready()
        self.kubeconfig.write_text(
            _KUBECONFIG.format(server=self.server, ca=self.certificate, token=self.token)
        )
        self._run(
            "kube-controller-manager",
            {
                "kubeconfig": str(self.kubeconfig),
                "bind-address": "127.0.0.1",
                "secure-port": "0",
                "leader-elect": "false",
                "service-account-private-key-file": str(self.directory / "accounts.key"),
                "root-ca-file": str(self.certificate),
            },
        )
        stages = sorted((self._programs / STAGES).glob("*.yaml"))
        self._run(
            "kwok",
            {"kubeconfig": str(self.kubeconfig), "manage-all-nodes": "true"},
            *(f"--config={stage}" for stage in stages),
        )

    def _write_secrets(self) -> None:
        account = f'{self.token},admin,admin,"system:masters"\n'
        (self.directory / "tokens.csv").write_text(account)
        key, public = self.directory / "accounts.key", self.directory / "accounts.pub"
        for command in (
            ["openssl", "genrsa", "-out", str(key), "2048"],
            ["openssl", "rsa", "-in", str(key), "-pubout", "-out", str(public)],
        ):
            subprocess.run(command, check=True, capture_output=True)

    def _run_etcd(self, url: str) -> None:
        peer = f"http://127.0.0.1:{self._peer}"
        self._run(
            "etcd",
            {
                "data-dir": str(self.directory / "etcd"),
                "listen-client-urls": url,
                "advertise-client-urls": url,
                "listen-peer-urls": peer,
                "initial-advertise-peer-urls": peer,
                "initial-cluster": f"default={peer}",
            },
            "--unsafe-no-fsync",
        )

    def _run_apiserver(self, etcd: str) -> None:
        self._run(
            "kube-apiserver",
            {
                "etcd-servers": etcd,
                "bind-address": "127.0.0.1",
                "advertise-address": "127.0.0.1",
                "secure-port": self.server.rpartition(":")[2],
                "cert-dir": str(self.certificate.parent),
                "authorization-mode": "RBAC",
                "token-auth-file": str(self.directory / "tokens.csv"),
                "service-account-issuer": "https://kubernetes.default.svc.cluster.local",
                "service-account-key-file": str(self.directory / "accounts.pub"),
                "service-account-signing-key-file": str(self.directory / "accounts.key"),
                "service-cluster-ip-range": "10.0.0.0/24",
                "endpoint-reconciler-type": "none",
            },
        )

    def _run(self, name: str, flags: Mapping[str, str], *more: str) -> None:
        command = [str(self._programs / name), *(f"--{key}={each}" for key, each in flags.items())]
        environment = {"PATH": os.environ.get("PATH", ""), "HOME": str(self.directory)}
        self._daemons.append(Daemon([*command, *more], environment, self.directory / f"{name}.log"))

    def _await_ready(self) -> None:
        """The server's own certificate serves as the client's authority."""
        until = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < until:
            for daemon in self._daemons:
                if not daemon.running:
                    raise daemon.failure()
            if self.certificate.exists() and self._is_ready():
                return
            time.sleep(LOOK_SECONDS)
        raise DaemonFailed(f"the cluster is not ready:\n{self._daemons[-1].log_text()[-2_000:]}")

    def _is_ready(self) -> bool:
        trusted = ssl.create_default_context(cafile=str(self.certificate))
        header = {"Authorization": f"Bearer {self.token}"}
        request = urllib.request.Request(f"{self.server}/readyz", headers=header)
        try:
            with urllib.request.urlopen(request, context=trusted, timeout=5) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False
