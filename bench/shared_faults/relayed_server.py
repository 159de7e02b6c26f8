"""`dovemq serve` that reaches other front ends through relays.

RELAYS is a JSON object from the advertised port of a front end to the port of its relay.
"""

import json
import os
import sys
from typing import Any, Final
from unittest.mock import patch

from dovemq.cli import main
from dovemq.cluster.link import dialling

RELAYS: Final = "RELAYS"


class _Relayed:
    """A link whose attempts to connect go to the relay of its address."""

    def __init__(self, link: Any, relays: dict[str, int]) -> None:
        self._link = link
        host, _, port = link.address.rpartition(":")
        self.address = f"{host}:{relays.get(port, port)}"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._link, name)


def run() -> int:
    relays = json.loads(os.environ[RELAYS])
    connect = dialling._Attempt.__init__

    def relayed(attempt: Any, link: Any, way: Any) -> None:
        connect(attempt, _Relayed(link, relays), way)  # type: ignore[arg-type]

    with patch.object(dialling._Attempt, "__init__", relayed):
        return main()


if __name__ == "__main__":
    sys.exit(run())
