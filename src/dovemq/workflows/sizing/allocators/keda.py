"""An allocator that KEDA asks: an external scaler over gRPC, which answers with wanted consumers.

A ScaledObject names its topic in the metadata of its trigger. The metric `consumers` has the
target 1, so that the autoscaler of Kubernetes wants as many replicas as the metric says. A topic
is active while it has consumers. Before the manager has decided on a topic the answer is
UNAVAILABLE, for which KEDA keeps the replicas as they are.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final

import grpc

from dovemq.workflows.sizing.allocators.keda_messages import SERVICE, message_classes

METRIC: Final = "consumers"
TOPIC_KEY: Final = "topic"
GRACE_SECONDS: Final = 1.0
STREAMS_MAX: Final = 1_000
"""Most concurrent requests; each ScaledObject with a push trigger keeps one open."""

Context = Any
"""The context of a request in grpc.aio, whose types are those of a stub that may be missing."""


class KedaAllocator:
    name = "keda"

    def __init__(self, present: Mapping[str, int] | None = None) -> None:
        """KEDA tells nobody how many replicas there are; `present` says it at the start."""
        self._wanted: dict[str, int] = {}
        self._present = present or {}
        self._changed = asyncio.Event()
        self._messages = message_classes()
        self._server: Any = None
        self.port = 0

    async def serve(self, address: str) -> None:
        """Begins to answer at HOST:PORT; port 0 is any free one, which `port` says then."""
        self._server = grpc.aio.server(maximum_concurrent_rpcs=STREAMS_MAX)
        self._server.add_generic_rpc_handlers((self._handlers(),))
        self.port = self._server.add_insecure_port(address)
        await self._server.start()

    async def consumers(self, topics: Sequence[str]) -> Mapping[str, int]:
        known = {**self._present, **self._wanted}
        return {topic: known.get(topic, 0) for topic in topics}

    async def allocate(self, wanted: Mapping[str, int]) -> Sequence[str]:
        if any(self._wanted.get(topic) != count for topic, count in wanted.items()):
            self._wanted |= wanted
            self._changed.set()
            self._changed = asyncio.Event()
        return ()

    async def close(self) -> None:
        if self._server is not None:
            await self._server.stop(GRACE_SECONDS)

    def _handlers(self) -> Any:
        reference, answers = self._messages["ScaledObjectRef"], {}
        for name, request, call in (
            ("IsActive", reference, self._is_active),
            ("GetMetricSpec", reference, self._metric_spec),
            ("GetMetrics", self._messages["GetMetricsRequest"], self._metrics),
        ):
            answers[name] = grpc.unary_unary_rpc_method_handler(
                call, request.FromString, lambda answer: answer.SerializeToString()
            )
        answers["StreamIsActive"] = grpc.unary_stream_rpc_method_handler(
            self._stream_is_active, reference.FromString, lambda answer: answer.SerializeToString()
        )
        return grpc.method_handlers_generic_handler(SERVICE, answers)

    async def _is_active(self, reference: Any, context: Context) -> Any:
        return self._messages["IsActiveResponse"](result=await self._count(reference, context) > 0)

    async def _stream_is_active(self, reference: Any, context: Context) -> AsyncIterator[Any]:
        """Says it once, and again whenever it changes, until KEDA ends the call."""
        last = None
        while True:
            changed = self._changed
            active = self._wanted.get(await _topic_of(reference, context), 0) > 0
            if active != last:
                last = active
                yield self._messages["IsActiveResponse"](result=active)
            await changed.wait()

    async def _metric_spec(self, reference: Any, context: Context) -> Any:
        await _topic_of(reference, context)
        spec = self._messages["MetricSpec"](metricName=METRIC, targetSize=1, targetSizeFloat=1.0)
        return self._messages["GetMetricSpecResponse"](metricSpecs=[spec])

    async def _metrics(self, request: Any, context: Context) -> Any:
        count = await self._count(request.scaledObjectRef, context)
        value = self._messages["MetricValue"](
            metricName=METRIC, metricValue=count, metricValueFloat=float(count)
        )
        return self._messages["GetMetricsResponse"](metricValues=[value])

    async def _count(self, reference: Any, context: Context) -> int:
        topic = await _topic_of(reference, context)
        if topic not in self._wanted:
            text = f"the manager has not decided on topic {topic!r} yet"
            await context.abort(grpc.StatusCode.UNAVAILABLE, text)
        return self._wanted[topic]


async def _topic_of(reference: Any, context: Context) -> str:
    topic = str(reference.scalerMetadata.get(TOPIC_KEY, ""))
    if not topic:
        text = f"the metadata of the trigger has no {TOPIC_KEY!r}"
        await context.abort(grpc.StatusCode.INVALID_ARGUMENT, text)
    return topic


async def serving(host: str, port: int, present: Mapping[str, int]) -> KedaAllocator:
    allocator = KedaAllocator(present)
    await allocator.serve(f"{host}:{port}")
    return allocator
