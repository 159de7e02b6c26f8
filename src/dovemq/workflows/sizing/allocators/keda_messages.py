"""The messages of KEDA's external scaler, as `externalscaler.proto` beside this file defines them.

The classes are made from a table by the protobuf package itself, so that no generated code has to
match its version. A test compiles the `.proto` and compares.
"""

from collections.abc import Mapping
from typing import Any, Final

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

PACKAGE: Final = "externalscaler"
SERVICE: Final = f"{PACKAGE}.ExternalScaler"
_FILE: Final = "externalscaler.proto"
_Field = descriptor_pb2.FieldDescriptorProto
_TYPES: Final[Mapping[str, int]] = {
    "string": _Field.TYPE_STRING,
    "bool": _Field.TYPE_BOOL,
    "int64": _Field.TYPE_INT64,
    "double": _Field.TYPE_DOUBLE,
}
_MESSAGES: Final[Mapping[str, tuple[tuple[str, str], ...]]] = {
    "ScaledObjectRef": (
        ("name", "string"),
        ("namespace", "string"),
        ("scalerMetadata", "map"),
    ),
    "IsActiveResponse": (("result", "bool"),),
    "GetMetricSpecResponse": (("metricSpecs", "repeated MetricSpec"),),
    "MetricSpec": (
        ("metricName", "string"),
        ("targetSize", "int64"),
        ("targetSizeFloat", "double"),
    ),
    "GetMetricsRequest": (("scaledObjectRef", "ScaledObjectRef"), ("metricName", "string")),
    "GetMetricsResponse": (("metricValues", "repeated MetricValue"),),
    "MetricValue": (
        ("metricName", "string"),
        ("metricValue", "int64"),
        ("metricValueFloat", "double"),
    ),
}
"""Fields of each message; their numbers follow from their order."""


def message_classes() -> dict[str, Any]:
    """The class of each message by its name."""
    pool = descriptor_pool.DescriptorPool()
    pool.Add(_described())
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))
        for name in _MESSAGES
    }


def _described() -> descriptor_pb2.FileDescriptorProto:
    file = descriptor_pb2.FileDescriptorProto(name=_FILE, package=PACKAGE, syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, (field, kind) in enumerate(fields, 1):
            _add_field(message, field, number, kind)
    return file


def _add_field(message: descriptor_pb2.DescriptorProto, name: str, number: int, kind: str) -> None:
    field = message.field.add(name=name, number=number, label=_Field.LABEL_OPTIONAL)
    if kind == "map":
        _add_map(message, field)
        return
    if kind.startswith("repeated "):
        field.label = _Field.LABEL_REPEATED
        kind = kind.removeprefix("repeated ")
    if kind in _TYPES:
        field.type = _TYPES[kind]
    else:
        field.type, field.type_name = _Field.TYPE_MESSAGE, f".{PACKAGE}.{kind}"


def _add_map(
    message: descriptor_pb2.DescriptorProto, field: descriptor_pb2.FieldDescriptorProto
) -> None:
    """A map of strings is a repeated message with key and value."""
    entry = message.nested_type.add(name=field.name[0].upper() + field.name[1:] + "Entry")
    entry.options.map_entry = True
    for number, name in enumerate(("key", "value"), 1):
        entry.field.add(
            name=name, number=number, label=_Field.LABEL_OPTIONAL, type=_Field.TYPE_STRING
        )
    field.label, field.type = _Field.LABEL_REPEATED, _Field.TYPE_MESSAGE
    field.type_name = f".{PACKAGE}.{message.name}.{entry.name}"
