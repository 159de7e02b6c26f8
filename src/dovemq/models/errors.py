"""The errors of all models.

    ModelError
    ├── ModelParameterInvalid   a number is missing, is not a number, or is outside its range
    ├── ModelSpecInvalid        the description of a network, plan or sweep is wrong at a place
    ├── TooLarge                the result would need more memory or time than a named bound
    └── NetError                a Petri net is invalid or fails; see `petri/errors.py`

They are ValueErrors, so that `models` can be used without the rest of DoveMQ.
"""


class ModelError(ValueError):
    """The root of the tree. It is never raised itself."""


class ModelParameterInvalid(ModelError):
    def __init__(self, parameter: str, value: object, needed: str) -> None:
        super().__init__(f"{parameter} is {value}: {needed} is needed")
        self.parameter = parameter


class ModelSpecInvalid(ModelError):
    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}")


class TooLarge(ModelError):
    def __init__(self, what: str, found: int, most: int, remedy: str) -> None:
        super().__init__(f"{what}: {found} is more than {most}; {remedy}")
