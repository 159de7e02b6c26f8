"""The external scaler against messages that protoc compiled from the contract."""

import asyncio
from collections.abc import AsyncIterator
from importlib import resources
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import descriptor_pb2
from grpc_tools import protoc

from dovemq.workflows.sizing import allocators
from dovemq.workflows.sizing.allocators.keda import KedaAllocator
from dovemq.workflows.sizing.allocators.keda_messages import SERVICE, message_classes

PROTO = "externalscaler.proto"
ANSWER_SECONDS_MAX = 60.0


class Keda:
    """The calls that KEDA makes for one ScaledObject."""

    def __init__(self, channel: grpc.aio.Channel, topic: str | None) -> None:
        self._messages = message_classes()
        metadata = {} if topic is None else {"topic": topic}
        self.reference = self._messages["ScaledObjectRef"](
            name="worker-a", namespace="default", scalerMetadata=metadata
        )
        self._channel = channel

    async def ask(self, method: str, answer: str, request: Any = None) -> Any:
        call = self._channel.unary_unary(
            f"/{SERVICE}/{method}",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=self._messages[answer].FromString,
        )
        return await call(request or self.reference, timeout=ANSWER_SECONDS_MAX)

    async def metric(self, name: str = "consumers") -> Any:
        request = self._messages["GetMetricsRequest"](
            scaledObjectRef=self.reference, metricName=name
        )
        return await self.ask("GetMetrics", "GetMetricsResponse", request)

    def stream(self) -> Any:
        return self._channel.unary_stream(
            f"/{SERVICE}/StreamIsActive",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=self._messages["IsActiveResponse"].FromString,
        )(self.reference, timeout=ANSWER_SECONDS_MAX)


@pytest.fixture
async def scaler() -> AsyncIterator[KedaAllocator]:
    allocator = KedaAllocator()
    await allocator.serve("127.0.0.1:0")
    yield allocator
    await allocator.close()


@pytest.fixture
async def channel(scaler: KedaAllocator) -> AsyncIterator[grpc.aio.Channel]:
    async with grpc.aio.insecure_channel(f"127.0.0.1:{scaler.port}") as opened:
        yield opened


def test_messages_are_those_of_the_contract(tmp_path: Path) -> None:
    with resources.as_file(resources.files(allocators)) as folder:
        out = tmp_path / "compiled"
        code = protoc.main(["protoc", f"-I{folder}", f"--descriptor_set_out={out}", PROTO])
    assert code == 0
    compiled = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file[0]
    assert f"{compiled.package}.{compiled.service[0].name}" == SERVICE
    ours = {name: each.DESCRIPTOR for name, each in message_classes().items()}
    assert set(ours) == {each.name for each in compiled.message_type}
    for message in compiled.message_type:
        found = descriptor_pb2.DescriptorProto()
        ours[message.name].CopyToProto(found)
        for each in (message, *message.nested_type, found, *found.nested_type):
            for field in each.field:
                field.ClearField("json_name")
        assert found == message


async def test_metric_is_the_wanted_number_of_consumers(
    scaler: KedaAllocator, channel: grpc.aio.Channel
) -> None:
    await scaler.allocate({"A": 4})
    keda = Keda(channel, "A")
    [spec] = (await keda.ask("GetMetricSpec", "GetMetricSpecResponse")).metricSpecs
    assert (spec.metricName, spec.targetSize, spec.targetSizeFloat) == ("consumers", 1, 1.0)
    [value] = (await keda.metric()).metricValues
    assert (value.metricName, value.metricValue, value.metricValueFloat) == ("consumers", 4, 4.0)
    assert (await keda.ask("IsActive", "IsActiveResponse")).result


async def test_stream_says_when_a_topic_becomes_active(
    scaler: KedaAllocator, channel: grpc.aio.Channel
) -> None:
    await scaler.allocate({"A": 0})
    stream = Keda(channel, "A").stream()
    assert not (await stream.read()).result
    await scaler.allocate({"A": 2})
    assert (await stream.read()).result
    await scaler.allocate({"A": 3})
    await scaler.allocate({"A": 0})
    assert not (await stream.read()).result
    stream.cancel()


async def test_topic_without_a_decision_is_unavailable(
    scaler: KedaAllocator, channel: grpc.aio.Channel
) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await Keda(channel, "B").metric()
    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
    assert "topic 'B'" in str(refused.value.details())


async def test_trigger_without_a_topic_is_refused(channel: grpc.aio.Channel) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await Keda(channel, None).ask("GetMetricSpec", "GetMetricSpecResponse")
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_decision_is_what_the_next_manager_reads(scaler: KedaAllocator) -> None:
    await scaler.allocate({"A": 4})
    assert await scaler.consumers(["A", "B"]) == {"A": 4, "B": 0}
    assert await asyncio.wait_for(scaler.allocate({"A": 4}), ANSWER_SECONDS_MAX) == ()
