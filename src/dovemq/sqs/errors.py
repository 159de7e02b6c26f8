"""Errors that only the wire knows: they end at `faults`, like those of the core."""

from dovemq.core.errors import RequestError


class WireError(RequestError):
    """The root of this module's part of the tree; never raised itself."""

    def __init__(self, what: str) -> None:
        super().__init__(what)


class SerializationError(WireError):
    """The body cannot be read, or a field is not of its type."""


class OperationUnknown(WireError):
    """JSON: no such target. Query: a look at a URL that names no action."""


class ActionInvalid(WireError):
    """Query: no such action, or not on this URL."""

    def __init__(self, action: str) -> None:
        super().__init__(f"The action {action} is not valid for this endpoint.")


class HostInvalid(WireError):
    """The Host header could not be part of a queue URL."""

    def __init__(self) -> None:
        super().__init__("The Host header is missing or malformed.")


class ParameterInvalid(WireError):
    """A value is refused with a text that does not name the parameter and its value."""


class AttributesConflict(WireError):
    """A queue attribute that cannot be had, given the others."""
