"""The errors of the clients.

ClientError
├── Refused             the server answered with an error
├── Unreachable         the connection failed or broke before the answer
│   └── Unconnected     no connection was made: the request was not sent
├── Untrusted           its certificate is invalid or cannot be checked
├── TimedOut            no answer in time; the request may have been executed
└── AnswerMalformed     the answer is not that of an SQS server
"""

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


class Unreachable(ClientError):
    def __init__(self, url: str, found: str) -> None:
        super().__init__(f"{url}: {found}; is the server running? `dovemq serve` starts one")
        self.url = url


class Unconnected(Unreachable):
    pass


class Untrusted(ClientError):
    def __init__(self, url: str, found: str) -> None:
        super().__init__(
            f"{url}: {found}; give a file of trusted certificates with --ca-bundle or AWS_CA_BUNDLE"
        )
        self.url = url


class TimedOut(ClientError):
    def __init__(self, url: str, seconds: float) -> None:
        super().__init__(f"{url}: no answer within {seconds:g} seconds")
        self.url = url
        self.seconds = seconds


class AnswerMalformed(ClientError):
    def __init__(self, url: str, found: str) -> None:
        super().__init__(f"{url}: {found}; check that this is the address of an SQS server")
        self.url = url
