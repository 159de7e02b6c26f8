"""The limits of the service, as data.

Times are in milliseconds. The wire has seconds and converts them.
"""

import re
from decimal import Decimal
from typing import Final, NamedTuple


class Range(NamedTuple):
    """A range of allowed values, both ends included."""

    least: int
    most: int

    def holds(self, value: int) -> bool:
        return self.least <= value <= self.most


SECOND_MS: Final = 1_000
MINUTE_MS: Final = 60 * SECOND_MS
HOUR_MS: Final = 60 * MINUTE_MS
DAY_MS: Final = 24 * HOUR_MS

LEASE_MS: Final = Range(0, 12 * HOUR_MS)
DELAY_MS: Final = Range(0, 15 * MINUTE_MS)
RETENTION_MS: Final = Range(MINUTE_MS, 14 * DAY_MS)
WAIT_MS: Final = Range(0, 20 * SECOND_MS)
REQUEST_BYTES_MAX: Final = 262_144
"""Body and query of a request that sends no messages: more than the largest policy and all tags
take, in whatever encoding."""
FORM_BYTES_MAX: Final = 3 * 1_048_576 + REQUEST_BYTES_MAX
"""A form that sends messages: each byte of them may take three."""
NAMES_LISTED_MAX: Final = 100
"""Names of attributes in a request; SQS states no bound, and has fewer names."""
MESSAGE_BYTES: Final = Range(1_024, 1_048_576)
BATCH_BYTES_MAX: Final = 1_048_576
STORED_UNIT_BYTES: Final = 64
STORED_OVERHEAD_BYTES: Final = 128
"""The assumed size of a stored message without its body, attributes and headers."""
BATCH_COUNT: Final = Range(1, 10)
RECEIVE_COUNT: Final = Range(1, 10)
ORDER_HINT: Final = Range(1, 1_000)
PARTITIONS: Final = Range(1, 256)
"""Active partitions of one queue; their numbers are below the end of the range."""
INHIBITION_MS: Final = Range(0, HOUR_MS)
RECEIVES_BEFORE_REDRIVE: Final = Range(1, 1_000)
ENCRYPTION_REUSE_SECONDS: Final = Range(60, 86_400)
GROUP_CONCURRENCY: Final = Range(1, 1_000)
GROUP_RATE_PER_SECOND: Final = Range(1, 1_000)
DEQUEUE_FANOUT: Final = Range(1, 256)
RDS_SLEEP_MS: Final = Range(1, 20 * SECOND_MS)
PMS_PERIOD_MS: Final = Range(100, MINUTE_MS)
REDRIVE_SOURCES_MAX: Final = 10
MOVE_RATE_PER_SECOND: Final = Range(1, 500)
MOVES_LISTED: Final = Range(1, 10)
QUEUES_LISTED: Final = Range(1, 1_000)
PEEK_COUNT: Final = Range(1, 1_000)
LEASED_MAX: Final = 120_000
TUPLES_INSPECTED_MAX: Final = 1_000

ACCOUNTS_MAX: Final = 10_000
CREDENTIALS_MAX: Final = 10
"""Access keys of one account; expired ones do not count."""
PASSWORD_LENGTH: Final = Range(8, 128)
QUOTA: Final = Range(0, 2**53 - 1)
ROTATION_GRACE_MS: Final = Range(0, 90 * DAY_MS)

DEDUPLICATION_MS: Final = 5 * MINUTE_MS
REDRIVE_LEASE_MS: Final = MINUTE_MS
"""The shortest lease of an exhausted message, so that it is moved before the lease ends."""
ATTEMPT_MS: Final = 5 * MINUTE_MS
BAN_MS: Final = 60 * SECOND_MS

MESSAGE_ATTRIBUTES_MAX: Final = 10
ATTRIBUTE_NAME_LENGTH: Final = Range(1, 256)
ATTRIBUTE_TYPE_LENGTH: Final = Range(1, 256)
NUMBER_LENGTH_MAX: Final = 256
NUMBER_LEAST: Final = Decimal("-1e128")
NUMBER_MOST: Final = Decimal("1e126")
NUMBER_SIZE_LEAST: Final = Decimal("1e-128")
"""A number attribute that is not 0 is at least so far from it."""
XRAY_HEADER_LENGTH_MAX: Final = 8_192
TAGS_MAX: Final = 50
TAG_KEY_LENGTH: Final = Range(1, 128)
TAG_VALUE_LENGTH: Final = Range(0, 256)
LABEL_LENGTH: Final = Range(1, 80)
PERMISSION_ACTIONS_MAX: Final = 7
POLICY_BYTES_MAX: Final = 8_192
POLICY_STATEMENTS_MAX: Final = 20
POLICY_PRINCIPALS_MAX: Final = 50
POLICY_CONDITIONS_MAX: Final = 10
POLICY_SINGLE_WILDCARDS_MAX: Final = 20

# A group of a standard queue is noisy when it holds more than this share of all leases, and at
# least this many. It is calm again when it is empty, or after this long without a send.
NOISY_LEASES_SHARE: Final = 0.10
NOISY_LEASES_MIN: Final = 30
NOISY_QUIET_MS: Final = 5 * MINUTE_MS

QUEUE_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,80}")
QUEUE_NAME_LENGTH_MAX: Final = 80
FIFO_SUFFIX: Final = ".fifo"
BATCH_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,80}")
TOKEN: Final = re.compile(r"[A-Za-z0-9!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~]{1,128}")
"""Group, deduplication and attempt ids."""
FORBIDDEN_CHARACTER: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
FORBIDDEN_ASCII: Final = bytes(set(range(32)) - set(b"\t\n\r"))
