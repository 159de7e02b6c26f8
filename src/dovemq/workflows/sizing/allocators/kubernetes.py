"""An allocator of Kubernetes Deployments: one for each topic, scaled by its `scale` subresource.

Each change is tried as a server-side dry run first, so that what the cluster would refuse is
reported and nothing is half done. A change carries the version of the scale that it was decided
on. Pods that become ready change that version too, so a change that the cluster refuses for it is
made again while the number is the same; if somebody else has changed the number, the next round
decides. The service account needs `get` and `patch` on the `deployments/scale` of its
Deployments and nothing else (`examples/kubernetes/manager.yaml`).
"""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from kubernetes.config.config_exception import ConfigException
from urllib3.exceptions import HTTPError

from dovemq.core.errors import DoveError

ANSWER_SECONDS_MAX: Final = 20
ATTEMPTS_MAX: Final = 5
PLACEHOLDER: Final = "TOPIC"
CONFLICT: Final = 409
_CAUSES: Final[Mapping[int, str]] = {
    401: "the cluster does not accept the credentials",
    403: "the service account may not do it: it needs get and patch on deployments/scale",
    404: "there is no such Deployment",
    CONFLICT: "its scale was changed meanwhile",
    422: "the cluster refuses the number",
}


class StatefulSetScales:
    """The scales of StatefulSets under the names of those of Deployments."""

    def __init__(self, apps: Any) -> None:
        self._apps = apps

    def read_namespaced_deployment_scale(self, name: str, namespace: str, **options: Any) -> Any:
        return self._apps.read_namespaced_stateful_set_scale(name, namespace, **options)

    def patch_namespaced_deployment_scale(
        self, name: str, namespace: str, body: Any, **options: Any
    ) -> Any:
        return self._apps.patch_namespaced_stateful_set_scale(name, namespace, body, **options)


class ClusterUnreachable(DoveError):
    """No configuration of a cluster was found, or it is invalid."""


class DeploymentScales(Protocol):
    """The two calls of `AppsV1Api` that are needed."""

    def read_namespaced_deployment_scale(
        self, name: str, namespace: str, **options: Any
    ) -> Any: ...

    def patch_namespaced_deployment_scale(
        self, name: str, namespace: str, body: Any, **options: Any
    ) -> Any: ...


def deployment_of(pattern: str, topic: str) -> str:
    """The name of a topic's Deployment; Kubernetes allows small letters, digits and hyphens."""
    return pattern.replace(PLACEHOLDER, topic.lower().replace("_", "-"))


class KubernetesAllocator:
    name = "kubernetes"

    def __init__(
        self, scales: DeploymentScales, namespace: str, pattern: str, *, dry_run: bool = False
    ) -> None:
        """A `dry_run` lets the cluster check every change, and carries none out."""
        self._scales, self._namespace, self._pattern = scales, namespace, pattern
        self._dry_run = dry_run

    async def consumers(self, topics: Sequence[str]) -> Mapping[str, int]:
        found = {}
        for topic in topics:
            with contextlib.suppress(ApiException, HTTPError):
                scale = await asyncio.to_thread(self._read, topic)
                found[topic] = scale.spec.replicas or 0
        return found

    async def allocate(self, wanted: Mapping[str, int]) -> Sequence[str]:
        troubles = []
        for topic, count in wanted.items():
            if trouble := await asyncio.to_thread(self._set, topic, count):
                troubles.append(trouble)
        return troubles

    async def close(self) -> None:
        """The Deployments stay as they are."""

    def _read(self, topic: str) -> Any:
        return self._scales.read_namespaced_deployment_scale(
            deployment_of(self._pattern, topic),
            self._namespace,
            _request_timeout=ANSWER_SECONDS_MAX,
        )

    def _set(self, topic: str, count: int) -> str | None:
        try:
            self._scale(topic, count)
        except ApiException as error:
            return self._told(topic, count, _CAUSES.get(error.status, f"HTTP {error.status}"))
        except HTTPError:
            return self._told(topic, count, "the cluster does not answer")
        return None

    def _scale(self, topic: str, count: int) -> None:
        scale = self._read(topic)
        before = scale.spec.replicas
        if (before or 0) == count:
            return
        for attempt in range(1, ATTEMPTS_MAX + 1):
            try:
                self._change(topic, scale.metadata.resource_version, count)
            except ApiException as error:
                if error.status != CONFLICT or attempt == ATTEMPTS_MAX:
                    raise
                scale = self._read(topic)
                if scale.spec.replicas != before:
                    raise
            else:
                return

    def _change(self, topic: str, version: str, count: int) -> None:
        body = {"metadata": {"resourceVersion": version}, "spec": {"replicas": count}}
        self._patch(topic, body, dry_run="All")
        if not self._dry_run:
            self._patch(topic, body)

    def _patch(self, topic: str, body: Mapping[str, Any], **options: str) -> None:
        self._scales.patch_namespaced_deployment_scale(
            deployment_of(self._pattern, topic),
            self._namespace,
            body,
            _request_timeout=ANSWER_SECONDS_MAX,
            **options,
        )

    def _told(self, topic: str, count: int, cause: str) -> str:
        name = deployment_of(self._pattern, topic)
        return (
            f"{topic}: Deployment {name} in {self._namespace} cannot be scaled to {count}: {cause}"
        )


def connected(
    namespace: str, pattern: str, *, dry_run: bool = False, stateful: bool = False
) -> KubernetesAllocator:
    """An allocator with the credentials of the pod, or of ~/.kube/config outside a cluster.

    With `stateful` it scales StatefulSets instead of Deployments.
    """
    try:
        try:
            config.load_incluster_config()
        except ConfigException:
            config.load_kube_config()
    except ConfigException as error:
        raise ClusterUnreachable(f"no Kubernetes cluster is configured: {error}") from None
    apps = client.AppsV1Api()
    scales = StatefulSetScales(apps) if stateful else apps
    return KubernetesAllocator(scales, namespace, pattern, dry_run=dry_run)
