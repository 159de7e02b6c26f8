"""Names of queues on the wire: an ARN, a URL, or a bare name."""

import re
from typing import Final
from urllib.parse import unquote, urlsplit

from dovemq.core.bounded import BoundedDict
from dovemq.core.errors import QueueMissing
from dovemq.core.queue import QueueKey

_ARN: Final = re.compile(
    r"arn:aws[a-z-]*:sqs:([a-z0-9-]+):(\d{12}):([A-Za-z0-9_-]{1,80}(?:\.fifo)?)", re.ASCII
)
ACCOUNT: Final = re.compile(r"\d{12}", re.ASCII)
URL_REMEMBERED_LENGTH_MAX: Final = 512


class QueueNames:
    """Turns keys of queues into ARNs, and ARNs and URLs into keys, for one region."""

    def __init__(self, region: str) -> None:
        self.region = region
        self._keys: BoundedDict[tuple[str, str], QueueKey] = BoundedDict()

    def arn(self, key: QueueKey) -> str:
        return f"arn:aws:sqs:{self.region}:{key.account}:{key.name}"

    def key_of_arn(self, arn: str) -> QueueKey | None:
        """The key of the queue; None if the text is not the ARN of a queue of this region."""
        found = _ARN.fullmatch(arn)
        if found is None or found[1] != self.region:
            return None
        return QueueKey(found[2], found[3])

    def key_of_url(self, url: str, account: str) -> QueueKey:
        """The key in a URL, of which only the account and the name count, or in a bare name."""
        place = (url, account)
        found = self._keys.get(place)
        if found is None:
            found = _key_of_path(url, account)
            if len(url) <= URL_REMEMBERED_LENGTH_MAX:
                self._keys.keep(place, found)
        return found


def queue_url(origin: str, key: QueueKey) -> str:
    return f"{origin}/{key.account}/{key.name}"


def path_names_queue(path: str) -> bool:
    parts = path.strip("/").split("/")
    return len(parts) == 2 and bool(ACCOUNT.fullmatch(parts[0]))


def _key_of_path(url: str, account: str) -> QueueKey:
    try:
        path = urlsplit(url).path if "://" in url else url
    except ValueError:
        raise QueueMissing(url) from None
    parts = unquote(path).strip("/").split("/")
    if len(parts) == 1 and parts[0]:
        return QueueKey(account, parts[0])
    if len(parts) >= 2 and ACCOUNT.fullmatch(parts[-2]) and parts[-1]:
        return QueueKey(parts[-2], parts[-1])
    raise QueueMissing(url)
