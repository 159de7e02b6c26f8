"""`dovemq serve` that writes its number of asyncio tasks to TASKS_FILE on SIGUSR1."""

import asyncio
import os
import signal
import sys
from pathlib import Path
from unittest.mock import patch

from dovemq.cli import main
from dovemq.service import Service

_start = Service.start


def tell_tasks() -> None:
    place = Path(os.environ["TASKS_FILE"])
    part = place.with_suffix(".part")
    part.write_text(str(len(asyncio.all_tasks())))
    part.rename(place)


async def start_watched(service: Service) -> None:
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, tell_tasks)
    await _start(service)


if __name__ == "__main__":
    with patch.object(Service, "start", start_watched):
        sys.exit(main())
