"""Builds etcd, Kubernetes and KWOK for tests, from the Go registry: `python -m tools.kubernetes`.

The programs go into a cache outside the tree, with the stages of KWOK that make pods run. On two
cores this takes some twenty minutes, 1.1 GB of modules and 2.9 GB of compile cache; both are
removed afterwards. `make test-full` builds them; without Go its tests are skipped.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from dovemq.testing.local_kubernetes import PROGRAMS, STAGES, VERSION, is_built, kubernetes_cache

ETCD: Final = "v3.6.8"
KWOK: Final = "v0.8.0"
STAGING: Final = f"v0{VERSION.removeprefix('v1')}"
"""The version of the modules that Kubernetes keeps in its own tree."""
BUILD_SECONDS_MAX: Final = 4 * 3_600
_PATHS: Final = {
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kwok": "sigs.k8s.io/kwok/cmd/kwok",
}
_STAGING: Final = (
    "api apiextensions-apiserver apimachinery apiserver cli-runtime client-go cloud-provider "
    "cluster-bootstrap code-generator component-base component-helpers controller-manager cri-api "
    "cri-client cri-streaming csi-translation-lib dynamic-resource-allocation endpointslice "
    "externaljwt kms kube-aggregator kube-controller-manager kube-proxy kube-scheduler kubectl "
    "kubelet metrics mount-utils pod-security-admission sample-apiserver sample-cli-plugin "
    "sample-controller streaming"
)


def go_module() -> str:
    """The text of a `go.mod` whose tools are the programs."""
    requires = f"""\
\tgo.etcd.io/etcd/server/v3 {ETCD}
\tk8s.io/kubernetes {VERSION}
\tsigs.k8s.io/kwok {KWOK}
"""
    tools = "".join(f"\t{path}\n" for path in _PATHS.values())
    replaced = "".join(f"\tk8s.io/{name} => k8s.io/{name} {STAGING}\n" for name in _STAGING.split())
    return (
        "module dovemq.local/kubernetes\n\ngo 1.26\n\n"
        f"require (\n{requires})\n\ntool (\n{tools})\n\nreplace (\n{replaced})\n"
    )


def build(folder: Path, target: Path) -> None:
    source, modules = folder / "source", folder / "modules"
    source.mkdir()
    (source / "go.mod").write_text(go_module())
    environment = {
        **os.environ,
        "CGO_ENABLED": "0",
        "GOFLAGS": "-mod=mod -modcacherw",
        "GOPATH": str(modules),
        "GOCACHE": str(folder / "compiled"),
    }
    _run(["go", "mod", "tidy"], source, environment)
    version = "k8s.io/component-base/version"
    _, major, minor, *_ = VERSION.replace("v", ".").split(".")
    flags = f"-s -w -X {version}.gitVersion={VERSION} -X {version}.gitMajor={major}"
    flags += f" -X {version}.gitMinor={minor}"
    target.mkdir(parents=True, exist_ok=True)
    for name in PROGRAMS:
        print(f"building {name}", flush=True)
        out = folder / name
        _run(
            ["go", "build", "-trimpath", "-ldflags", flags, "-o", str(out), _PATHS[name]],
            source,
            environment,
        )
        shutil.move(out, target / name)
    stages = modules / "pkg/mod/sigs.k8s.io" / f"kwok@{KWOK}" / "kustomize/stage"
    (target / STAGES).mkdir(exist_ok=True)
    for file in [*stages.glob("node/fast/node-*.yaml"), *stages.glob("pod/fast/pod-*.yaml")]:
        shutil.copy(file, target / STAGES / file.name)


def _run(command: list[str], folder: Path, environment: dict[str, str]) -> None:
    subprocess.run(command, cwd=folder, env=environment, check=True, timeout=BUILD_SECONDS_MAX)


def main() -> int:
    target = kubernetes_cache()
    if is_built(target):
        return 0
    if shutil.which("go") is None:
        print("go is not installed: tests with a Kubernetes cluster will be skipped")
        return int(os.environ.get("CI") == "true")
    with tempfile.TemporaryDirectory(prefix="dovemq-kubernetes-") as folder:
        build(Path(folder), target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
