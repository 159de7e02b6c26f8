"""Bytes of strangers and of broken front ends: the owner survives, and keeps nothing of them."""

import asyncio
import contextlib
import random
import tracemalloc

import msgspec
import pytest

from dovemq.cluster.link.bounds import FRAME_BYTES_MAX, GREETING_BYTES_MAX
from dovemq.cluster.link.verbs import PING, CountsVerb, LeaseVerb, SendVerb, Watch
from dovemq.core.commands import Ask
from tests.link.linked import HOST
from tests.link.pairs import Pair, until
from tests.link.rogue import Rogue

SEED = 23
WATCHED = (1, 0)
PLACE = (1, 0, 1)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """All tests have one address, which is not to be refused."""
    monkeypatch.setattr("dovemq.cluster.link.listener.FAILURES_MAX", 10**9)


async def _hung_up_on(port: int, data: bytes) -> None:
    reader, writer = await asyncio.open_connection(HOST, port)
    writer.write(data)
    if writer.can_write_eof():
        writer.write_eof()
    with contextlib.suppress(ConnectionError):
        await reader.read()
    writer.close()


def _garbage(rng: random.Random) -> bytes:
    data = rng.randbytes(rng.randrange(1, 300))
    if rng.random() < 0.5:
        return rng.randrange(GREETING_BYTES_MAX).to_bytes(4, "big") + data
    if rng.random() < 0.5:
        return len(data).to_bytes(4, "big") + data
    return data


async def test_garbage_of_strangers_leaves_nothing_behind(pair: Pair) -> None:
    rng = random.Random(SEED)
    port = pair.linked.listener.port
    for _ in range(400):
        await _hung_up_on(port, _garbage(rng))
    await until(lambda: not pair.linked.listener.greeting)
    assert (await pair.remote.counts(pair.now_ms)).visible == 0


async def test_frame_that_is_too_long_is_refused_before_it_is_read(pair: Pair) -> None:
    port = pair.linked.listener.port
    await _hung_up_on(port, (GREETING_BYTES_MAX + 1).to_bytes(4, "big"))
    rogue = await Rogue(port).connect()
    rogue.write((FRAME_BYTES_MAX + 1).to_bytes(4, "big"))
    await rogue.hung_up()
    await until(lambda: not pair.linked.listener.linked)
    assert (await pair.remote.counts(pair.now_ms)).visible == 0


def _messages() -> list[bytes]:
    encode = msgspec.msgpack.encode
    return [
        encode([CountsVerb(PLACE, 1)]),
        encode([LeaseVerb(PLACE, Ask(10, 1_000), 2), CountsVerb(PLACE, 3)]),
        encode([Watch(WATCHED), SendVerb(PLACE, [], 4)]),
        encode([[10, [1, 0, 1], [["id", "body", "0", 0, {"a": ["String", "v", None]}]], 5]]),
    ]


def _mutated(rng: random.Random) -> bytes:
    data = bytearray(rng.choice(_messages()))
    for _ in range(rng.randrange(1, 6)):
        at = rng.randrange(len(data))
        change = rng.randrange(3)
        if change == 0:
            data[at] = rng.randrange(256)
        elif change == 1:
            del data[at:]
            data += rng.randbytes(3)
        else:
            data[at:at] = rng.randbytes(rng.randrange(1, 5))
    return bytes(data)


async def test_mutated_verbs_of_a_broken_front_end_harm_nobody(pair: Pair) -> None:
    rng = random.Random(SEED)
    port = pair.linked.listener.port
    for _ in range(150):
        rogue = await Rogue(port).connect()
        for _ in range(rng.randrange(1, 5)):
            rogue.write(rogue.framed(_mutated(rng)))
        if rng.random() < 0.3:
            rogue.write(rogue.framed(_mutated(rng))[: rng.randrange(1, 20)])
        await asyncio.sleep(0)
        rogue.close()
    await until(lambda: not pair.linked.listener.linked)
    await until(lambda: not pair.linked.listener.background)
    assert (await pair.remote.counts(pair.now_ms)).leased >= 0


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\xc0",
        b"\x91" * 5_000,
        b"\xdd\xff\xff\xff\xff",
        msgspec.msgpack.encode([[99, 1, 2]]),
        msgspec.msgpack.encode([CountsVerb(PLACE, 1), CountsVerb(PLACE, 1)]),
        msgspec.msgpack.encode([[10, [1, 0, 1], [["id", 5, "0"]], 1]]),
    ],
    ids=["empty", "nil", "nested", "long list", "unknown", "number twice", "wrong type"],
)
async def test_frame_that_is_no_list_of_verbs_ends_the_connection(
    pair: Pair, payload: bytes
) -> None:
    rogue = await Rogue(pair.linked.listener.port).connect()
    rogue.write(rogue.framed(payload))
    await rogue.hung_up()
    await until(lambda: not pair.linked.listener.linked)
    assert (await pair.remote.counts(pair.now_ms)).visible == 0


@pytest.mark.parametrize("fault", ["no tag", "repeated", "left out"])
async def test_frame_that_was_forged_repeated_or_left_out_ends_the_connection(
    pair: Pair, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    rogue = await Rogue(pair.linked.listener.port).connect()
    payload = msgspec.msgpack.encode([PING])
    frame = rogue.framed(payload)
    if fault == "no tag":
        rogue.write((len(payload) + 16).to_bytes(4, "big") + bytes(16) + payload)
    elif fault == "repeated":
        rogue.write(frame + frame)
    else:
        rogue.write(rogue.framed(payload))
    await rogue.hung_up()
    await until(lambda: not pair.linked.listener.linked)
    assert "a frame was forged, changed or lost on the way" in caplog.text


async def test_verb_for_a_queue_that_is_not_there_is_answered_with_a_failure(pair: Pair) -> None:
    """A bug of the owner's own code reaches the caller as an error, and its log as a trace."""
    rogue = await Rogue(pair.linked.listener.port).connect()
    rogue.write(rogue.framed(msgspec.msgpack.encode([CountsVerb((77, 0, 1), 1)])))
    answer = await rogue.reader.readuntil(b"see its log.")
    assert b"InvariantError" in answer
    rogue.close()


async def test_strangers_take_no_memory(pair: Pair) -> None:
    rng = random.Random(SEED)
    port = pair.linked.listener.port

    async def many() -> int:
        for _ in range(100):
            await _hung_up_on(port, _garbage(rng))
        await until(lambda: not pair.linked.listener.greeting)
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    await many()
    first = await many()
    later = await many()
    tracemalloc.stop()
    assert later - first < 200_000
