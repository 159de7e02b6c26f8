"""The Helm chart: consistent with the service, valid for Helm, and accepted by Kubernetes."""

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from kubernetes import client, config, utils

from dovemq import __version__
from dovemq.cli.program import build_parser
from dovemq.configuration import resolve
from dovemq.settings import LEAVE_SECONDS, HttpSettings, Settings, all_settings
from dovemq.testing.local_kubernetes import LocalKubernetes, is_built, kubernetes_cache
from tests.acceptance.programs import ROOT, program

CHART = ROOT / "deploy" / "helm" / "dovemq"
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
TEMPLATES = "".join(file.read_text() for file in sorted((CHART / "templates").iterdir()))
SHARED = {"store.secret": "dovemq-store", "secret": "dovemq-secrets"}
EVERYTHING = {
    **SHARED,
    "tls.secret": "dovemq-tls",
    "networkPolicy.enabled": "true",
    "networkPolicy.clients[0].podSelector.matchLabels.app": "worker",
    "serviceMonitor.enabled": "true",
    "settings.log_format": "json",
    "settings.http\\.body_bytes_max": "9000000",
    "ipv6": "true",
    "podLabels.team": "post",
    "tolerations[0].operator": "Exists",
    "priorityClassName": "high",
    "persistence.storageClass": "fast",
}
FORMS = {
    "embedded": {},
    "embedded with everything": {**EVERYTHING, "store.secret": ""},
    "shared": SHARED,
    "shared with everything": EVERYTHING,
}
"""Values of installations."""
POD_ADDRESSES = {"false": "10.0.0.7", "true": "fd00::7"}
FOREIGN_KIND = "ServiceMonitor"
"""The kind of an operator that is not there."""
RELEASE = "dovemq"
NAMESPACE = "default"

Document = dict[str, Any]


def _leaves(tree: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in tree.items():
        yield prefix + name
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{name}.")


def _described(schema: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for name, value in schema.get("properties", {}).items():
        yield prefix + name
        yield from _described(value, f"{prefix}{name}.")


def test_templates_use_values_that_exist_and_all_of_them() -> None:
    used = set(re.findall(r"\.Values\.([A-Za-z0-9.]+)", TEMPLATES))
    assert used <= set(_leaves(VALUES))
    assert {name.split(".")[0] for name in used} == set(VALUES)


def test_schema_describes_each_value() -> None:
    free = ("resources.",)
    given = {name for name in _leaves(VALUES) if not name.startswith(free)}
    # `global` is what Helm itself gives to charts inside charts.
    assert set(_described(SCHEMA)) == given | {"global"}


def test_templates_set_variables_of_settings() -> None:
    known = {setting.variable for setting in all_settings()}
    named = set(re.findall(r"name: (DOVEMQ_[A-Z_]+)$", TEMPLATES, re.MULTILINE))
    assert named
    assert named <= known


def test_versions_times_and_user_are_those_of_the_service() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    assert chart["appVersion"] == __version__
    assert VALUES["leaveSeconds"] == LEAVE_SECONDS
    assert VALUES["drainSeconds"] == Settings(data=Path("x"), http=HttpSettings()).drain_seconds
    image = (ROOT / "deploy" / "container" / "Containerfile").read_text()
    [user] = re.findall(r"^USER ([0-9]+):", image, re.MULTILINE)
    for name in ("runAsUser", "runAsGroup", "fsGroup"):
        assert f"{name}: {user}\n" in TEMPLATES


def _helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [program("helm"), *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)


def _sets(values: Mapping[str, str]) -> list[str]:
    return [part for name, value in values.items() for part in ("--set", f"{name}={value}")]


def _rendered(values: Mapping[str, str]) -> list[Document]:
    done = _helm("template", RELEASE, str(CHART), "--namespace", NAMESPACE, *_sets(values))
    assert done.returncode == 0, done.stderr
    return [document for document in yaml.safe_load_all(done.stdout) if document]


def _workload(documents: list[Document]) -> Document:
    [found] = [each for each in documents if each["kind"] in ("Deployment", "StatefulSet")]
    return found


def _as_kubernetes_reads(document: Document, model: str) -> Document:
    """The document without the fields that the model does not have."""
    api = client.ApiClient()
    read = api.deserialize(SimpleNamespace(data=json.dumps(document)), model)
    found: Document = api.sanitize_for_serialization(read)
    return found


@pytest.mark.parametrize("form", FORMS)
def test_helm_finds_no_fault(form: str) -> None:
    done = _helm("lint", "--strict", str(CHART), *_sets(FORMS[form]))
    assert done.returncode == 0, done.stdout + done.stderr


def test_store_decides_the_kind_of_the_workload() -> None:
    kinds = {form: [each["kind"] for each in _rendered(FORMS[form])] for form in FORMS}
    assert sorted(kinds["embedded"]) == ["Service", "StatefulSet"]
    assert sorted(kinds["shared"]) == ["Deployment", "PodDisruptionBudget", "Service"]
    assert {*kinds["shared with everything"]} == {
        *kinds["shared"],
        "NetworkPolicy",
        "ServiceMonitor",
    }


@pytest.mark.parametrize("form", FORMS)
def test_service_selects_the_pods_and_their_ports(form: str) -> None:
    documents = _rendered(FORMS[form])
    template = _workload(documents)["spec"]["template"]
    [service] = [each for each in documents if each["kind"] == "Service"]
    assert service["spec"]["selector"].items() <= template["metadata"]["labels"].items()
    [container] = template["spec"]["containers"]
    ports = {port["name"] for port in container["ports"]}
    assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports


@pytest.mark.parametrize("form", FORMS)
def test_objects_have_only_fields_that_kubernetes_knows(form: str) -> None:
    for document in _rendered(FORMS[form]):
        if document["kind"] != FOREIGN_KIND:
            read = _as_kubernetes_reads(document, f"V1{document['kind']}")
            assert read == document


@pytest.mark.parametrize("form", FORMS)
def test_server_accepts_what_the_pod_gives_it(form: str) -> None:
    spec = _workload(_rendered(FORMS[form]))["spec"]["template"]["spec"]
    [container] = spec["containers"]
    address = POD_ADDRESSES[FORMS[form].get("ipv6", "false")]
    arguments = [each.replace("$(POD_IP)", address) for each in container["args"]]
    environment = {each["name"]: each.get("value", "memory://") for each in container["env"]}
    settings = resolve(vars(build_parser().parse_args(arguments)), environment).settings
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert (settings.port, settings.admin_port_chosen) == (ports["sqs"], ports["admin"])
    assert str(settings.data).startswith(container["volumeMounts"][0]["mountPath"])
    grace = settings.leave_seconds_chosen + settings.drain_seconds
    assert spec["terminationGracePeriodSeconds"] > grace
    assert (settings.advertise is not None) == ("store.secret" in FORMS[form] and "link" in ports)
    if "settings.log_format" in FORMS[form]:
        assert (settings.log_format, settings.http.body_bytes_max) == ("json", 9_000_000)


@pytest.mark.parametrize("form", FORMS)
def test_pod_is_confined(form: str) -> None:
    spec = _workload(_rendered(FORMS[form]))["spec"]["template"]["spec"]
    assert spec["enableServiceLinks"] is spec["automountServiceAccountToken"] is False
    assert spec["securityContext"]["runAsNonRoot"] is True
    for container in [*spec["containers"], *spec.get("initContainers", [])]:
        context = container["securityContext"]
        assert context["readOnlyRootFilesystem"] is True
        assert context["allowPrivilegeEscalation"] is False
        assert context["capabilities"] == {"drop": ["ALL"]}


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"store.secret": "dovemq-store"}, "a shared store needs `secret`"),
        ({"replica": "2"}, "replica"),
        ({"settings.port": "80"}, "port"),
        ({"persistence.size": "much"}, "size"),
    ],
)
def test_invalid_values_are_refused_with_their_name(values: dict[str, str], reason: str) -> None:
    done = _helm("template", RELEASE, str(CHART), *_sets(values))
    assert done.returncode != 0
    assert reason in done.stderr


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[client.ApiClient]:
    if not (os.environ.get("DOVETEST_KUBERNETES") and is_built(kubernetes_cache())):
        pytest.skip(
            "DOVETEST_KUBERNETES is not set, or python -m tools.kubernetes has not been run"
        )
    with LocalKubernetes(tmp_path_factory.mktemp("kubernetes"), kubernetes_cache()) as cluster:
        yield config.new_client_from_config(str(cluster.kubeconfig))


@pytest.mark.parametrize("form", FORMS)
def test_kubernetes_accepts_the_objects(api: client.ApiClient, form: str) -> None:
    for document in _rendered(FORMS[form]):
        if document["kind"] != FOREIGN_KIND:
            utils.create_from_dict(api, document, namespace=NAMESPACE, dry_run="All")
