"""The allocator and its manifests on a real Kubernetes control plane, where one has been built."""

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes import client, config, utils

from dovemq.testing.local_kubernetes import NODE, LocalKubernetes, is_built, kubernetes_cache
from dovemq.workflows.sizing.allocators.kubernetes import KubernetesAllocator

EXAMPLES = Path(__file__).parents[2] / "examples" / "kubernetes"
SECONDS_MAX = 120.0
LOOK_SECONDS = 0.2
NAMESPACE = "default"

pytestmark = pytest.mark.skipif(
    not (os.environ.get("DOVETEST_KUBERNETES") and is_built(kubernetes_cache())),
    reason="DOVETEST_KUBERNETES is not set, or python -m tools.kubernetes has not been run",
)


def until(found: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS_MAX
    while not found():
        assert time.monotonic() < end
        time.sleep(LOOK_SECONDS)


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[client.ApiClient]:
    folder = tmp_path_factory.mktemp("kubernetes")
    with LocalKubernetes(folder, kubernetes_cache()) as cluster:
        made = config.new_client_from_config(str(cluster.kubeconfig))
        core = client.CoreV1Api(made)
        core.create_node(client.V1Node(metadata=client.V1ObjectMeta(name=NODE)))
        accounts = client.CoreV1Api(made)
        until(lambda: "default" in _names(accounts.list_namespaced_service_account(NAMESPACE)))
        for name in ("manager.yaml", "workers.yaml"):
            for document in yaml.safe_load_all((EXAMPLES / name).read_text()):
                _create(made, document)
        yield made


def _names(found: Any) -> set[str]:
    return {each.metadata.name for each in found.items}


def _create(made: client.ApiClient, document: dict[str, Any]) -> None:
    if document["kind"] == "Deployment":
        # Without a scheduler a pod runs where its template says.
        document["spec"]["template"]["spec"]["nodeName"] = NODE
    utils.create_from_dict(made, document, namespace=NAMESPACE)


@pytest.fixture
def as_manager(api: client.ApiClient) -> client.AppsV1Api:
    """The API with the service account of the shipped manifest."""
    request = client.AuthenticationV1TokenRequest(
        spec=client.V1TokenRequestSpec(audiences=[], expiration_seconds=3_600)
    )
    answer = client.CoreV1Api(api).create_namespaced_service_account_token(
        "dovemq-manager", NAMESPACE, request
    )
    settings = client.Configuration()
    settings.host = api.configuration.host
    settings.ssl_ca_cert = api.configuration.ssl_ca_cert
    settings.api_key = {"authorization": f"Bearer {answer.status.token}"}
    return client.AppsV1Api(client.ApiClient(settings))


def running(api: client.ApiClient) -> int:
    pods = client.CoreV1Api(api).list_namespaced_pod(NAMESPACE, label_selector="topic=A")
    return sum(pod.status.phase == "Running" for pod in pods.items)


def allocator(as_manager: client.AppsV1Api, *, dry_run: bool = False) -> KubernetesAllocator:
    return KubernetesAllocator(as_manager, NAMESPACE, "worker-TOPIC", dry_run=dry_run)


def test_pods_follow_the_decision(api: client.ApiClient, as_manager: client.AppsV1Api) -> None:
    manager = allocator(as_manager)
    for count in (3, 1):
        assert not asyncio.run(manager.allocate({"A": count}))
        assert asyncio.run(manager.consumers(["A"])) == {"A": count}
        until(lambda count=count: running(api) == count)  # type: ignore[misc]


def test_dry_run_is_checked_by_the_server_and_stores_nothing(
    as_manager: client.AppsV1Api,
) -> None:
    before = asyncio.run(allocator(as_manager).consumers(["A"]))
    assert not asyncio.run(allocator(as_manager, dry_run=True).allocate({"A": 7}))
    assert asyncio.run(allocator(as_manager).consumers(["A"])) == before
    [trouble] = asyncio.run(allocator(as_manager, dry_run=True).allocate({"A": -1}))
    assert "the cluster refuses the number" in trouble


def test_service_account_may_do_nothing_else(as_manager: client.AppsV1Api) -> None:
    [trouble] = asyncio.run(allocator(as_manager).allocate({"Other": 2}))
    assert "the service account may not do it" in trouble
    with pytest.raises(client.ApiException) as refused:
        as_manager.list_namespaced_deployment(NAMESPACE)
    assert refused.value.status == 403


def test_wrong_token_is_reported(as_manager: client.AppsV1Api) -> None:
    as_manager.api_client.configuration.api_key = {"authorization": "Bearer wrong"}
    [trouble] = asyncio.run(allocator(as_manager).allocate({"A": 2}))
    assert "does not accept the credentials" in trouble
