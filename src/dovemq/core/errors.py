"""Every error that a caller of DoveMQ can meet, in one tree.

    DoveError
    ├── RequestError                the caller must change something
    │   ├── InvalidValue            a parameter's value is out of its range or form
    │   ├── MissingValue            a parameter that must be there is not
    │   ├── InvalidContents         characters that a message body may not hold
    │   ├── InvalidMessageAttribute a message attribute's name, type or value is refused
    │   ├── DeduplicationMissing    FIFO: neither an id nor deduplication by contents
    │   ├── MessageTooLong          body and attributes exceed the queue's limit
    │   ├── UnknownAttribute        no queue attribute of that name, or not settable
    │   ├── InvalidAttribute        a queue attribute's value is refused
    │   ├── BatchRefused            a batch as a whole is refused
    │   │   ├── BatchEmpty
    │   │   ├── BatchTooMany
    │   │   ├── BatchTooLong
    │   │   ├── BatchIdInvalid
    │   │   └── BatchIdsNotDistinct
    │   ├── QueueMissing            no such queue
    │   ├── QueueExists             a queue of that name has other attributes
    │   ├── QueueDeletedRecently    the name is banned for a while
    │   ├── PurgeInProgress         one purge at a time
    │   ├── ReceiptInvalid          not a receipt of this queue
    │   ├── ReceiptExpired          FIFO: the lease of that receipt has ended
    │   ├── MessageGone             extending a lease of a message that is not there
    │   ├── MessageNotLeased        extending a lease that has ended
    │   ├── LimitReached            a limit of the service is reached
    │   ├── QuotaReached            a quota of the account is used up
    │   ├── AccountMissing          no such account
    │   ├── AccountExists           another account has that number or name
    │   ├── AccountNotEmpty         an account that owns queues cannot be removed
    │   ├── AccountProtected        the root account must stay usable
    │   ├── CredentialMissing       the account has no such access key
    │   ├── Unsupported             the operation does not exist or is not for this queue
    │   ├── MoveRefused             messages of that queue cannot be moved
    │   ├── ResourceMissing         a move task or its queue does not exist
    │   ├── AccessDenied            the request is not signed by someone who may do this
    │   │   ├── SignatureMissing
    │   │   ├── SignatureIncomplete
    │   │   ├── SignatureMismatch
    │   │   ├── SignatureExpired
    │   │   ├── AccessKeyUnknown
    │   │   ├── AccessKeyExpired
    │   │   └── QueueDenied         no policy lets the account do this, or one forbids it
    │   ├── Throttled               too many requests, or too many failed ones
    │   └── RequestMalformed        the request cannot be read at all
    ├── UnavailableError            try later
    │   ├── StoreFull               no space for sends; settles go on
    │   ├── StoreFailed             a commit failed; nothing is accepted until restart
    │   ├── StoreUnusable           the data directory cannot be opened as it is
    │   ├── MessageDamaged          a stored message fails its checksum
    │   ├── Busy                    too much of this kind is under way
    │   ├── AuditUnwritable         changes are refused while they cannot be recorded
    │   └── Draining                the service is shutting down
    └── InvariantError              our bug

Layers above the wire hang leaves of their own on this tree, which no request meets: settings,
the client, the command line and the listeners.

An error carries typed fields and builds its own text from them: what was asked, what was found,
what to do. Where SQS has a text for the case, the error speaks it word for word, since users
search for it. No text holds a message body or a secret. `sqs/faults.py` maps the tree to the wire.
"""


class DoveError(Exception):
    """The root; never raised itself."""


class RequestError(DoveError):
    """The caller must change something."""


class InvalidValue(RequestError):
    def __init__(self, parameter: str, value: object, reason: str) -> None:
        super().__init__(f"Value {value} for parameter {parameter} is invalid. Reason: {reason}")
        self.parameter = parameter
        self.value = value
        self.reason = reason


class MissingValue(RequestError):
    def __init__(self, parameter: str, remedy: str = "") -> None:
        text = remedy or f"The request must contain the parameter {parameter}."
        super().__init__(text)
        self.parameter = parameter


class InvalidContents(RequestError):
    def __init__(self) -> None:
        super().__init__(
            "Invalid characters found. Valid unicode characters are "
            "#x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF"
        )


class InvalidMessageAttribute(RequestError):
    def __init__(self, what: str) -> None:
        super().__init__(what)


class DeduplicationMissing(RequestError):
    def __init__(self) -> None:
        super().__init__(
            "The queue should either have ContentBasedDeduplication enabled or "
            "MessageDeduplicationId provided explicitly"
        )


class MessageTooLong(RequestError):
    def __init__(self, bytes_max: int) -> None:
        super().__init__(f"Message must be shorter than {bytes_max} bytes.")
        self.bytes_max = bytes_max


class UnknownAttribute(RequestError):
    def __init__(self, name: str) -> None:
        super().__init__(f"Unknown Attribute {name}.")
        self.name = name


class InvalidAttribute(RequestError):
    """`name` is the settings field; the wire knows it by another name."""

    def __init__(self, name: str, reason: str = "", value: object = None) -> None:
        super().__init__(f"Invalid value for {name}." + (f" Reason: {reason}" if reason else ""))
        self.name = name
        self.reason = reason
        self.value = value


class BatchRefused(RequestError):
    """A batch as a whole is refused; nothing of it was done."""


class BatchEmpty(BatchRefused):
    def __init__(self) -> None:
        super().__init__("There should be at least one entry in the request.")


class BatchTooMany(BatchRefused):
    def __init__(self, count: int, count_max: int) -> None:
        super().__init__(
            f"Maximum number of entries per request are {count_max}. You have sent {count}."
        )


class BatchTooLong(BatchRefused):
    def __init__(self, size_bytes: int, bytes_max: int) -> None:
        super().__init__(
            f"Batch requests cannot be longer than {bytes_max} bytes. "
            f"You have sent {size_bytes} bytes."
        )


class BatchIdInvalid(BatchRefused):
    def __init__(self) -> None:
        super().__init__(
            "A batch entry id can only contain alphanumeric characters, hyphens and underscores. "
            "It can be at most 80 letters long."
        )


class BatchIdsNotDistinct(BatchRefused):
    def __init__(self, entry_id: str) -> None:
        super().__init__(f"Id {entry_id} repeated.")


class QueueMissing(RequestError):
    def __init__(self, queue: str) -> None:
        super().__init__("The specified queue does not exist.")
        self.queue = queue


class QueueExists(RequestError):
    """`attribute` is the settings field that differs."""

    def __init__(self, queue: str, attribute: str) -> None:
        super().__init__(f"Queue {queue} exists with another value of {attribute}.")
        self.queue = queue
        self.attribute = attribute


class QueueDeletedRecently(RequestError):
    def __init__(self, wait_seconds: int) -> None:
        super().__init__(
            f"You must wait {wait_seconds} seconds after deleting a queue "
            "before you can create another with the same name."
        )


class PurgeInProgress(RequestError):
    def __init__(self, queue_name: str, wait_seconds: int) -> None:
        super().__init__(
            f"Only one PurgeQueue operation on {queue_name} is allowed every "
            f"{wait_seconds} seconds."
        )


class ReceiptInvalid(RequestError):
    def __init__(self, receipt: str) -> None:
        super().__init__(f'The input receipt handle "{receipt}" is not a valid receipt handle.')
        self.receipt = receipt


class ReceiptExpired(RequestError):
    def __init__(self, receipt: str) -> None:
        super().__init__(
            f"Value {receipt} for parameter ReceiptHandle is invalid. "
            "Reason: The receipt handle has expired."
        )


class MessageGone(RequestError):
    def __init__(self, receipt: str) -> None:
        super().__init__(
            f"Value {receipt} for parameter ReceiptHandle is invalid. Reason: Message does not "
            "exist or is not available for visibility timeout change."
        )


class MessageNotLeased(RequestError):
    def __init__(self) -> None:
        super().__init__("The message referred to is not in flight.")


class LimitReached(RequestError):
    def __init__(self, what: str) -> None:
        super().__init__(what)


class QuotaReached(RequestError):
    """`quota` is the field of `Quotas`, `asked` what this request would have added."""

    def __init__(self, account: str, quota: str, most: int, used: int, asked: int) -> None:
        super().__init__(
            f"Account {account} has reached its quota {quota}={most}: {used} in use, "
            f"{asked} more asked for."
        )
        self.account = account
        self.quota = quota
        self.most = most
        self.used = used
        self.asked = asked


class AccountMissing(RequestError):
    def __init__(self, account: str) -> None:
        super().__init__(f"There is no account {account}.")
        self.account = account


class AccountExists(RequestError):
    def __init__(self, account: str) -> None:
        super().__init__(f"There is an account {account} already.")
        self.account = account


class AccountNotEmpty(RequestError):
    def __init__(self, account: str) -> None:
        super().__init__(f"Account {account} owns queues: delete these first.")
        self.account = account


class AccountProtected(RequestError):
    def __init__(self, what: str) -> None:
        super().__init__(what)


class CredentialMissing(RequestError):
    def __init__(self, account: str, key_id: str) -> None:
        super().__init__(f"Account {account} has no access key {key_id}.")
        self.account = account
        self.key_id = key_id


class Unsupported(RequestError):
    def __init__(self, what: str) -> None:
        super().__init__(what)


class MoveRefused(RequestError):
    def __init__(self, what: str) -> None:
        super().__init__(what)


class ResourceMissing(RequestError):
    def __init__(self, what: str) -> None:
        super().__init__(what)


class AccessDenied(RequestError):
    """The request is not signed by someone who may do this."""

    def __init__(self, what: str) -> None:
        super().__init__(what)


class SignatureMissing(AccessDenied):
    pass


class SignatureIncomplete(AccessDenied):
    pass


class SignatureMismatch(AccessDenied):
    pass


class SignatureExpired(AccessDenied):
    pass


class AccessKeyUnknown(AccessDenied):
    pass


class AccessKeyExpired(AccessDenied):
    pass


class QueueDenied(AccessDenied):
    """Also of a queue of another account that is not there: which there are is not told."""

    def __init__(self, resource: str) -> None:
        super().__init__(f"Access to the resource {resource} is denied.")
        self.resource = resource


class Throttled(RequestError):
    """`wait_ms` is when to try again."""

    def __init__(self, what: str, wait_ms: int) -> None:
        super().__init__(what)
        self.wait_ms = wait_ms


class RequestMalformed(RequestError):
    def __init__(self, what: str) -> None:
        super().__init__(what)


class UnavailableError(DoveError):
    """Nothing is wrong with the request; try later."""


class StoreFull(UnavailableError):
    def __init__(self) -> None:
        super().__init__("The store is full: free disk space; sends resume by themselves.")


class StoreFailed(UnavailableError):
    def __init__(self, cause: str) -> None:
        super().__init__(f"The store failed ({cause}): restart the service once it is repaired.")


class StoreUnusable(UnavailableError):
    def __init__(self, place: str, found: str, remedy: str) -> None:
        super().__init__(f"{place}: {found}; {remedy}")


class MessageDamaged(UnavailableError):
    def __init__(self, queue: str, sequence: int) -> None:
        super().__init__(f"message {sequence} of queue {queue} fails its checksum")
        self.queue = queue
        self.sequence = sequence


class Busy(UnavailableError):
    def __init__(self, what: str) -> None:
        super().__init__(f"{what}; try again.")


class AuditUnwritable(UnavailableError):
    def __init__(self, cause: str) -> None:
        super().__init__(
            f"The audit log cannot be written ({cause}): changes are refused until it can."
        )


class Draining(UnavailableError):
    def __init__(self) -> None:
        super().__init__("The service is shutting down.")


class InvariantError(DoveError):
    """Our bug: a state that the rules exclude."""
