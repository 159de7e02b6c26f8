"""All errors that a caller of DoveMQ can get, in one tree.

    DoveError
    ├── RequestError                the caller must change something
    │   ├── InvalidValue            the value of a field is outside its range or form
    │   ├── MissingValue            a field that must be given is not
    │   ├── InvalidContents         characters that a message body may not hold
    │   ├── InvalidMessageAttribute a message attribute's name, type or value is invalid
    │   ├── DeduplicationMissing    FIFO: neither an id nor deduplication by contents
    │   ├── MessageTooLong          body and attributes exceed the queue's limit
    │   ├── UnknownAttribute        no queue attribute of that name, or not settable
    │   ├── InvalidAttribute        a queue cannot have that value of an attribute
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
    │   ├── MessageGone             extending the lease of a message that is gone or leased again
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
    │   ├── ResourceMissing         a move task, its source or its target does not exist
    │   ├── AccessDenied            the request's signer is not allowed to do this
    │   │   ├── SignatureMissing
    │   │   ├── SignatureIncomplete
    │   │   ├── SignatureMismatch
    │   │   ├── SignatureExpired
    │   │   ├── AccessKeyUnknown
    │   │   ├── AccessKeyExpired
    │   │   └── QueueDenied         no policy allows the account to do this, or one denies it
    │   ├── Throttled               too many requests, or too many failed ones
    │   └── RequestMalformed        the request cannot be read at all
    ├── UnavailableError            try later
    │   ├── StoreFull               no space for sends; settles go on
    │   ├── StoreFailed             a commit failed; nothing is accepted until restart
    │   ├── StoreUnusable           the data directory cannot be opened as it is
    │   ├── StoreUnreachable        the shared database does not answer; outcome unknown
    │   │   └── ReplicasMissing     too few of its nodes answer
    │   ├── OwnerChanged            this front end has lost the partition; outcome unknown
    │   ├── Busy                    too much of this kind is under way
    │   ├── AuditUnwritable         changes are refused while they cannot be recorded
    │   └── Draining                the service is shutting down
    └── InvariantError              a bug of ours

Layers above the wire add errors of their own to this tree, which no request meets: settings, the
client, the command line and the listeners.

An error carries typed fields and builds its own text from them: what was asked, what was found,
what to do. Fields have the names that they have here; `sqs/faults.py` maps them, and the texts that
SQS has for them, to the wire. No text holds a message body or a secret.
"""

from typing import Final

FIELD: Final = "{field}"
"""The place in a reason where the name of the field goes; the wire has another name for it."""


class DoveError(Exception):
    """The root of the tree. It is never raised itself."""


class RequestError(DoveError):
    """The caller must change something."""

    def __init__(self, text: str) -> None:
        super().__init__(text)


class InvalidValue(RequestError):
    """The value of a field is outside its range, or not in its form.

    `reason` may mention the field as `{field}`.
    """

    def __init__(self, field: str, value: object, reason: str) -> None:
        super().__init__(f"Invalid value {value} for {field}: {reason.replace(FIELD, field)}")
        self.field = field
        self.value = value
        self.reason = reason


class MissingValue(RequestError):
    def __init__(self, field: str) -> None:
        super().__init__(f"{field} is missing.")
        self.field = field


class InvalidContents(RequestError):
    def __init__(self) -> None:
        super().__init__(
            "Invalid characters found. Valid unicode characters are "
            "#x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF"
        )


class InvalidMessageAttribute(RequestError):
    """The name, the type or the value of a message attribute is invalid."""


class DeduplicationMissing(RequestError):
    def __init__(self) -> None:
        super().__init__(
            "A message of a FIFO queue needs a deduplication id, or content_deduplication must be "
            "on."
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
    """A queue cannot have this value. `field` is a field of `QueueSettings`."""

    def __init__(self, field: str, reason: str = "", value: object = None) -> None:
        super().__init__(f"Invalid value for {field}." + (f" Reason: {reason}" if reason else ""))
        self.field = field
        self.reason = reason
        self.value = value


class BatchRefused(RequestError):
    """A batch as a whole is refused, and no part of it was done."""


class BatchEmpty(BatchRefused):
    def __init__(self) -> None:
        super().__init__("There should be at least one entry in the request.")


class BatchTooMany(BatchRefused):
    def __init__(self, count: int | str, count_max: int) -> None:
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
        super().__init__(f"The queue {queue} does not exist.")
        self.queue = queue


class QueueExists(RequestError):
    """The existing queue has another value of `field`, a field of `QueueSettings`."""

    def __init__(self, queue: str, field: str) -> None:
        super().__init__(f"Queue {queue} exists with another value of {field}.")
        self.queue = queue
        self.field = field


class QueueDeletedRecently(RequestError):
    def __init__(self, wait_seconds: int) -> None:
        super().__init__(
            f"You must wait {wait_seconds} seconds after deleting a queue "
            "before you can create another with the same name."
        )


class PurgeInProgress(RequestError):
    def __init__(self, queue_name: str, wait_seconds: int) -> None:
        super().__init__(f"Queue {queue_name} can be purged once every {wait_seconds} seconds.")
        self.queue_name = queue_name
        self.wait_seconds = wait_seconds


class ReceiptInvalid(RequestError):
    def __init__(self, receipt: str) -> None:
        super().__init__(f"{receipt} is not a receipt of this queue.")
        self.receipt = receipt


class ReceiptExpired(RequestError):
    def __init__(self, receipt: str) -> None:
        super().__init__(f"The lease of receipt {receipt} has ended.")
        self.receipt = receipt


class MessageGone(RequestError):
    def __init__(self, receipt: str) -> None:
        super().__init__(
            f"The message of receipt {receipt} is gone, or another receive has leased it."
        )
        self.receipt = receipt


class MessageNotLeased(RequestError):
    def __init__(self) -> None:
        super().__init__("The message referred to is not in flight.")


class LimitReached(RequestError):
    """A limit of the service is reached."""


class QuotaReached(RequestError):
    """`quota` is the field of `Quotas`; `asked` is what this request would have added."""

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
    """The root account must stay usable."""


class CredentialMissing(RequestError):
    def __init__(self, account: str, key_id: str) -> None:
        super().__init__(f"Account {account} has no access key {key_id}.")
        self.account = account
        self.key_id = key_id


class Unsupported(RequestError):
    """The operation does not exist, or not for this queue."""


class MoveRefused(RequestError):
    """The messages of that queue cannot be moved."""


class ResourceMissing(RequestError):
    """`resource` is the source or the target of a move task, or the task itself."""

    def __init__(self, resource: str) -> None:
        super().__init__(f"The {resource} of the move does not exist.")
        self.resource = resource


class WorkflowInvalid(RequestError):
    """A specification of a workflow is wrong at `place`, such as `jobs.report.tasks.join`."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}")
        self.place = place
        self.reason = reason


class WorkflowMissing(RequestError):
    def __init__(self, account: str, type_: str, version: int | None = None) -> None:
        which = "" if version is None else f" of version {version}"
        super().__init__(f"Account {account} has no workflow {type_}{which}.")


class JobMissing(RequestError):
    def __init__(self, job_id: str) -> None:
        super().__init__(f"There is no job {job_id}, or its retention has ended.")
        self.job_id = job_id


class TaskMissing(RequestError):
    def __init__(self, job_id: str, task: str) -> None:
        super().__init__(f"Job {job_id} has no task {task}.")


class JobRefused(RequestError):
    """The job is not in a state in which this can be done."""


class AccessDenied(RequestError):
    """The request is not signed by an account that is allowed to do this."""


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
    """No policy allows this, or the queue of another account does not exist.

    Both look alike to the client, so that it cannot find out which queues exist.
    """

    def __init__(self, resource: str) -> None:
        super().__init__(f"Access to the resource {resource} is denied.")
        self.resource = resource


class Throttled(RequestError):
    """Too many requests; the client should try again after `wait_ms`."""

    def __init__(self, text: str, wait_ms: int) -> None:
        super().__init__(text)
        self.wait_ms = wait_ms


class RequestMalformed(RequestError):
    """The request cannot be read at all."""


class UnavailableError(DoveError):
    """Nothing is wrong with the request; the client should try later."""


class StoreFull(UnavailableError):
    def __init__(self) -> None:
        super().__init__("The store is full: free disk space; sends resume by themselves.")


class StoreFailed(UnavailableError):
    def __init__(self, cause: str) -> None:
        super().__init__(f"The store failed ({cause}): restart the service once it is repaired.")


class StoreUnusable(UnavailableError):
    def __init__(self, place: str, found: str, remedy: str) -> None:
        super().__init__(f"{place}: {found}; {remedy}")


class StoreUnreachable(UnavailableError):
    """`found` says what is wrong; `missing` says it without an address, for every client."""

    def __init__(self, database: str, cause: str) -> None:
        self.found = f"{self._found(database)} ({cause})."
        self.missing = "its database cannot be reached"
        super().__init__(f"{self.found} Whether the request was done is unknown; repeat it.")

    def _found(self, database: str) -> str:
        return f"The database {database} cannot be reached"


class ReplicasMissing(StoreUnreachable):
    def __init__(self, database: str, cause: str) -> None:
        super().__init__(database, cause)
        self.missing = "too few nodes of its database answer"

    def _found(self, database: str) -> str:
        return f"Too few nodes of the database {database} answer"


class OwnerChanged(UnavailableError):
    def __init__(self, queue_number: int, partition: int) -> None:
        super().__init__(
            f"This front end has lost partition {partition} of queue {queue_number}. Whether the "
            "request was done is unknown; repeat it."
        )


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
    """A bug of ours: a state that the rules exclude."""
