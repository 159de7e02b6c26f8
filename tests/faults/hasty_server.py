"""`dovemq serve` with one planted fault: it answers sends and settles before their commit."""

import asyncio
import sys
from typing import Any
from unittest.mock import patch

from dovemq.cli import main
from dovemq.stores.owned.group import Sending
from dovemq.stores.sqlite.writer import Writer

_send = Writer.send
_commit = Writer.commit


def _answered(value: Any) -> asyncio.Future[Any]:
    future = asyncio.get_running_loop().create_future()
    future.set_result(value)
    return future


def hasty_send(writer: Writer, sending: Sending) -> asyncio.Future[Any]:
    _send(writer, sending)
    return _answered([item.answer for item in sending.items])


def hasty_commit(writer: Writer) -> asyncio.Future[None]:
    _commit(writer)
    return _answered(None)


if __name__ == "__main__":
    with patch.object(Writer, "send", hasty_send), patch.object(Writer, "commit", hasty_commit):
        sys.exit(main())
