"""Errors that only the wire protocols can raise; `faults` maps them like those of the core."""

from dovemq.core.errors import RequestError


class SerializationError(RequestError):
    """The body cannot be read, or a field is not of its type."""


class RequestTooLong(RequestError):
    """The request is longer than any valid one of its operation, and was not decoded."""

    def __init__(self, size_bytes: int, bytes_max: int) -> None:
        super().__init__(
            f"The request has {size_bytes} bytes; this operation takes at most {bytes_max}."
        )


class OperationUnknown(RequestError):
    """JSON: there is no such target. Query: the request names no action."""


class ActionInvalid(RequestError):
    """Query: there is no such action, or not on this URL."""

    def __init__(self, action: str) -> None:
        super().__init__(f"The action {action} is not valid for this endpoint.")


class HostInvalid(RequestError):
    """The Host header cannot be part of a queue URL."""

    def __init__(self) -> None:
        super().__init__("The Host header is missing or malformed.")


class ParameterInvalid(RequestError):
    """A value is invalid, and SQS's text does not name the parameter and its value."""


class AttributesConflict(RequestError):
    """A queue attribute contradicts another one."""
