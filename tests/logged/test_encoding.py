"""Groups of a log as bytes."""

import pytest

from dovemq.stores.owned.logged.encoding import (
    VERSION,
    GroupCodec,
    GroupDamaged,
    GroupOfNewerRelease,
    LoggedSend,
    LogGroup,
    SnapshotPage,
)

SEND = LoggedSend(7, 20, 10, 1, 15, "blue", 3, 99, b"record", b"key", True, "id")
GROUP = LogGroup(
    5,
    [1, 2],
    [SEND],
    [SEND],
    [(7, 30, 2, 15)],
    8,
    1 << 43,
    SnapshotPage(9, 0, True, b"entries", [(b"k", "id", 7, 99)], [(b"d", 7)], [(1, 2, 3)]),
)


def test_group_is_the_same_after_it_was_written_and_read() -> None:
    codec = GroupCodec()
    assert codec.decode(codec.encode(GROUP)) == GROUP
    assert codec.decode(codec.encode(LogGroup(0))) == LogGroup(0)


def test_any_flipped_bit_is_noticed() -> None:
    codec = GroupCodec()
    data = codec.encode(GROUP)
    for at in range(len(data)):
        for bit in range(8):
            damaged = bytearray(data)
            damaged[at] ^= 1 << bit
            with pytest.raises((GroupDamaged, GroupOfNewerRelease)) as caught:
                codec.decode(bytes(damaged))
            if at:
                assert caught.type is GroupDamaged


@pytest.mark.parametrize("length", [0, 1, 4, 5, 20])
def test_cut_off_group_is_damaged(length: int) -> None:
    codec = GroupCodec()
    with pytest.raises(GroupDamaged):
        codec.decode(codec.encode(GROUP)[:length])


def test_group_of_a_newer_release_is_named_as_such() -> None:
    codec = GroupCodec()
    data = codec.encode(GROUP)
    with pytest.raises(GroupOfNewerRelease) as caught:
        codec.decode(bytes([VERSION + 1]) + data[1:])
    assert caught.value.version == VERSION + 1
