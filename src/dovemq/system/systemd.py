"""Messages to systemd, or to another program that starts services and speaks its protocol.

The service manager names a socket in `NOTIFY_SOCKET`; each message is one datagram of plain text.
Without the variable nothing is sent.
"""

import contextlib
import os
import socket
from collections.abc import Mapping
from typing import Final

VARIABLE: Final = "NOTIFY_SOCKET"
READY: Final = "READY=1"
"""The service serves. With `Type=notify`, `systemctl start` waits for this message."""
STOPPING: Final = "STOPPING=1"
SEND_SECONDS_MAX: Final = 1.0


def tell_systemd(message: str, environment: Mapping[str, str] = os.environ) -> None:
    """Send the message. A socket that is not there is no reason not to serve."""
    address = environment.get(VARIABLE, "")
    # An abstract socket begins with a zero byte, which a variable cannot hold.
    path = f"\0{address[1:]}" if address.startswith("@") else address
    if not path.startswith(("/", "\0")):
        return
    with (
        contextlib.suppress(OSError),
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender,
    ):
        sender.settimeout(SEND_SECONDS_MAX)
        sender.sendto(message.encode(), path)
