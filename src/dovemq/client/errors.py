"""What a caller of a server can meet.

ClientError
├── Refused             the server answered with an error
├── Unreachable         no connection, or it broke before the answer
│   └── Unconnected     no connection: the request was certainly not sent
├── Untrusted           its certificate does not hold, or cannot be checked
├── TimedOut            no answer in time; the request may have been done
└── AnswerMalformed     not the answer of a DoveMQ server
"""

from dovemq.core.errors import DoveError


class ClientError(DoveError):
    """The root; never raised itself."""


class Refused(ClientError):
    """`code` is the wire's name of the error, such as `AWS.SimpleQueueService.NonExistentQueue`.

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
        super().__init__(f"{url}: {found}; is the server running? start it by `dovemq serve`")
        self.url = url


class Unconnected(Unreachable):
    pass


class Untrusted(ClientError):
    def __init__(self, url: str, found: str) -> None:
        super().__init__(
            f"{url}: {found}; name a file of trusted certificates by --ca-bundle or AWS_CA_BUNDLE"
        )
        self.url = url


class TimedOut(ClientError):
    def __init__(self, url: str, seconds: float) -> None:
        super().__init__(f"{url}: no answer within {seconds:g} seconds")
        self.url = url
        self.seconds = seconds


class AnswerMalformed(ClientError):
    def __init__(self, url: str, found: str) -> None:
        super().__init__(f"{url}: {found}; check that this is the address of a DoveMQ server")
        self.url = url
