"""The errors of the clients.

ClientError
├── Refused             the server answered with an error
├── AddressError
│   ├── Unreachable     the connection failed or broke before the answer
│   │   └── Unconnected no connection was made: the request was not sent
│   ├── Untrusted       its certificate is invalid or cannot be checked
│   └── AnswerMalformed the answer is not that of an SQS server
├── TimedOut            no answer in time; the request may have been executed
└── WrongRole           a session was asked for what its role does not do
"""

from typing import ClassVar

from dovemq.core.errors import DoveError


class ClientError(DoveError):
    """The root of the tree. Only its subclasses are raised."""


class Refused(ClientError):
    """The server answered with an error.

    `code` is its name on the wire, such as `AWS.SimpleQueueService.NonExistentQueue`.

    `detail` is the server's own text, where it says more than `message`, which is SQS's.
    """

    def __init__(
        self, status: int, code: str, message: str, request_id: str, detail: str = ""
    ) -> None:
        text = detail or message
        super().__init__(f"{code}: {text}" if text else code)
        self.status = status
        self.code = code
        self.message = message
        self.request_id = request_id


class AddressError(ClientError):
    """A failure at an address. Only its subclasses are raised; they say what to do."""

    ADVICE: ClassVar[str]

    def __init__(self, url: str, found: str) -> None:
        super().__init__(f"{url}: {found}; {self.ADVICE}")
        self.url = url


class Unreachable(AddressError):
    ADVICE = "is the server running? `dovemq serve` starts one"


class Unconnected(Unreachable):
    pass


class Untrusted(AddressError):
    ADVICE = "give a file of trusted certificates with --ca-bundle or AWS_CA_BUNDLE"


class TimedOut(ClientError):
    def __init__(self, url: str, seconds: float) -> None:
        super().__init__(f"{url}: no answer within {seconds:g} seconds")
        self.url = url
        self.seconds = seconds


class WrongRole(ClientError):
    def __init__(self, verb: str, role: str, needed: str) -> None:
        super().__init__(f"{verb}: this session is a {role}; connect another one as a {needed}")


class AnswerMalformed(AddressError):
    ADVICE = "check that this is the address of an SQS server"
