"""What is wrong with the question that a model was asked.

    ModelError
    ├── ParameterInvalid    a number is absent, no number, or outside its range
    ├── NetworkInvalid      topics, tasks or routes do not fit together
    ├── SweepInvalid        what a sweep asks, or one of its configurations, makes no sense
    ├── Unstable            more work arrives than the servers can do
    ├── TooLarge            the answer would need more room or time than a named bound
    └── NetError            a Petri net makes no sense or fails; its leaves are in `petri/errors.py`

They are ValueErrors, so that `models` can be used without the rest of DoveMQ.
"""


class ModelError(ValueError):
    """The root; never raised itself."""


class ParameterInvalid(ModelError):
    def __init__(self, parameter: str, value: object, needed: str) -> None:
        super().__init__(f"{parameter} is {value}: {needed} is needed")
        self.parameter = parameter
        self.value = value
        self.needed = needed


class NetworkInvalid(ModelError):
    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}")
        self.place = place
        self.reason = reason


class SweepInvalid(ModelError):
    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}")
        self.place = place
        self.reason = reason


class Unstable(ModelError):
    def __init__(self, place: str, load: float, servers: float) -> None:
        super().__init__(
            f"{place} is unstable: its load of {load:.6g} needs more than {servers:g} servers, "
            "so its queue grows without end"
        )
        self.place = place
        self.load = load
        self.servers = servers


class TooLarge(ModelError):
    def __init__(self, what: str, found: int, most: int, remedy: str) -> None:
        super().__init__(f"{what}: {found} is more than {most}; {remedy}")
        self.what = what
        self.found = found
        self.most = most
