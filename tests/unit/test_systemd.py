"""Messages to the service manager."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from dovemq.system.systemd import READY, STOPPING, VARIABLE, tell_systemd


@pytest.fixture
def receiver() -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.settimeout(60)
        yield receiver


def test_message_is_one_datagram(receiver: socket.socket, tmp_path: Path) -> None:
    path = str(tmp_path / "notify")
    receiver.bind(path)
    for message in (READY, STOPPING):
        tell_systemd(message, {VARIABLE: path})
        assert receiver.recv(100).decode() == message


def test_socket_may_be_abstract(receiver: socket.socket, tmp_path: Path) -> None:
    receiver.bind(f"\0{tmp_path}")
    tell_systemd(READY, {VARIABLE: f"@{tmp_path}"})
    assert receiver.recv(100).decode() == READY


@pytest.mark.parametrize("address", ["", "relative", "/missing/socket", f"/{'x' * 200}"])
def test_socket_that_is_not_there_is_no_error_and_is_not_made(address: str) -> None:
    tell_systemd(READY, {VARIABLE: address})
    assert not (address and Path(address).exists())


def test_nothing_is_sent_without_the_variable(receiver: socket.socket, tmp_path: Path) -> None:
    receiver.bind(str(tmp_path / "notify"))
    receiver.setblocking(False)
    tell_systemd(READY, {})
    with pytest.raises(BlockingIOError):
        receiver.recv(100)
