"""The allocator of Deployments on a fake cluster, whose answers are the client's own models."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from kubernetes import client
from kubernetes.client.exceptions import ApiException
from urllib3.exceptions import MaxRetryError

from dovemq.workflows.sizing.allocators.kubernetes import (
    ATTEMPTS_MAX,
    KubernetesAllocator,
    StatefulSetScales,
    deployment_of,
)

PATTERN = "worker-TOPIC"
REPLICAS_MAX = 2**31 - 1


class FakeCluster:
    """Two calls of AppsV1Api on a dictionary. It is a fake; tests/acceptance has a cluster.

    Requests go through the client's models, so that a wrong field fails here as well.
    """

    def __init__(self, **replicas: int) -> None:
        self.replicas = {name.replace("_", "-"): count for name, count in replicas.items()}
        self.versions = dict.fromkeys(self.replicas, 1)
        self.changes: list[tuple[str, int, bool]] = []
        self.failure: Exception | None = None
        self.meanwhile: list[int] = []
        """Numbers that others set, in turn, before each change; pods become ready then."""

    def read_namespaced_deployment_scale(self, name: str, namespace: str, **_: Any) -> Any:
        self._check(name, namespace)
        return client.V1Scale(
            metadata=client.V1ObjectMeta(name=name, resource_version=str(self.versions[name])),
            spec=client.V1ScaleSpec(replicas=self.replicas[name]),
        )

    def patch_namespaced_deployment_scale(
        self, name: str, namespace: str, body: Mapping[str, Any], **options: Any
    ) -> None:
        self._check(name, namespace)
        if self.meanwhile:
            self.replicas[name] = self.meanwhile.pop(0)
            self.versions[name] += 1
        scale = client.ApiClient().deserialize(_Response(body), "V1Scale")
        if scale.metadata.resource_version != str(self.versions[name]):
            raise ApiException(status=409, reason="Conflict")
        if not 0 <= scale.spec.replicas <= REPLICAS_MAX:
            raise ApiException(status=422, reason="Invalid")
        dry = options.get("dry_run") == "All"
        self.changes.append((name, scale.spec.replicas, dry))
        if not dry:
            self.replicas[name] = scale.spec.replicas
            self.versions[name] += 1

    def _check(self, name: str, namespace: str) -> None:
        if self.failure is not None:
            raise self.failure
        if namespace != "jobs" or name not in self.replicas:
            raise ApiException(status=404, reason="Not Found")


class _Response:
    """A body as the client's decoder takes it."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        self.data = json.dumps(body)


def allocator(cluster: FakeCluster, *, dry_run: bool = False) -> KubernetesAllocator:
    return KubernetesAllocator(cluster, "jobs", PATTERN, dry_run=dry_run)


async def test_deployment_is_scaled_after_a_dry_run() -> None:
    cluster = FakeCluster(worker_a=1, worker_b=2)
    assert not await allocator(cluster).allocate({"A": 3, "B": 2})
    assert cluster.changes == [("worker-a", 3, True), ("worker-a", 3, False)]
    assert await allocator(cluster).consumers(["A", "B"]) == {"A": 3, "B": 2}


async def test_dry_run_changes_nothing() -> None:
    cluster = FakeCluster(worker_a=1)
    assert not await allocator(cluster, dry_run=True).allocate({"A": 3})
    assert cluster.changes == [("worker-a", 3, True)]
    assert cluster.replicas == {"worker-a": 1}


async def test_topic_without_a_deployment_hinders_no_other() -> None:
    cluster = FakeCluster(worker_a=1)
    troubles = await allocator(cluster).allocate({"X_1": 2, "A": 2})
    assert troubles == [
        "X_1: Deployment worker-x-1 in jobs cannot be scaled to 2: there is no such Deployment"
    ]
    assert cluster.replicas == {"worker-a": 2}
    assert await allocator(cluster).consumers(["X_1", "A"]) == {"A": 2}


async def test_number_that_somebody_else_has_changed_meanwhile_is_left() -> None:
    cluster = FakeCluster(worker_a=1)
    cluster.meanwhile = [5]
    [trouble] = await allocator(cluster).allocate({"A": 2})
    assert trouble.endswith("its scale was changed meanwhile")
    assert cluster.replicas == {"worker-a": 5}


async def test_pods_that_become_ready_meanwhile_do_not_hinder_a_change() -> None:
    cluster = FakeCluster(worker_a=1)
    cluster.meanwhile = [1] * (ATTEMPTS_MAX - 1)
    assert not await allocator(cluster).allocate({"A": 2})
    assert cluster.replicas == {"worker-a": 2}


async def test_scale_that_never_rests_is_left_to_the_next_round() -> None:
    cluster = FakeCluster(worker_a=1)
    cluster.meanwhile = [1] * ATTEMPTS_MAX
    [trouble] = await allocator(cluster).allocate({"A": 2})
    assert trouble.endswith("its scale was changed meanwhile")
    assert cluster.replicas == {"worker-a": 1}


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (ApiException(status=403, reason="Forbidden"), "get and patch on deployments/scale"),
        (ApiException(status=401, reason="Unauthorized"), "does not accept the credentials"),
        (ApiException(status=500, reason="Internal"), "HTTP 500"),
        (MaxRetryError(None, "/apis"), "the cluster does not answer"),  # type: ignore[arg-type]
    ],
)
async def test_refusal_says_what_to_do(failure: Exception, words: str) -> None:
    cluster = FakeCluster(worker_a=1)
    cluster.failure = failure
    [trouble] = await allocator(cluster).allocate({"A": 2})
    assert words in trouble


def test_name_of_a_deployment_has_small_letters_and_hyphens() -> None:
    assert deployment_of(PATTERN, "Image_Scan") == "worker-image-scan"
    assert deployment_of("x-TOPIC-y", "A") == "x-a-y"


class FakeStatefulSets:
    """The two calls of AppsV1Api for StatefulSets, on a fake cluster."""

    def __init__(self, cluster: FakeCluster) -> None:
        self.read_namespaced_stateful_set_scale = cluster.read_namespaced_deployment_scale
        self.patch_namespaced_stateful_set_scale = cluster.patch_namespaced_deployment_scale


async def test_stateful_set_is_scaled_as_a_deployment_is() -> None:
    cluster = FakeCluster(cassandra=3)
    scales = StatefulSetScales(FakeStatefulSets(cluster))
    allocator = KubernetesAllocator(scales, "jobs", "cassandra")
    assert await allocator.consumers(["store"]) == {"store": 3}
    assert not await allocator.allocate({"store": 6})
    assert cluster.replicas == {"cassandra": 6}


def test_calls_for_stateful_sets_exist_in_the_client() -> None:
    for name in ("read", "patch"):
        assert callable(getattr(client.AppsV1Api, f"{name}_namespaced_stateful_set_scale"))
