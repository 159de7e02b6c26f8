"""Damaged files: all damage is found and named, and costs only the messages stored on it.

`DOVETEST_DECAYS` sets how many random damages of each kind are tried on each of two stores.
"""

import os
import random
import shutil
from pathlib import Path
from typing import Final

import pytest

from dovemq.load.decay import FILES, Decay, Kind, apply_decay, draw_decay
from tests.faults.decayed import (
    FRAME_BYTES,
    LOG_HEADER_BYTES,
    PAGE_BYTES,
    Made,
    broken_promises,
    broken_promises_of_a_cut,
    make,
)

DECAYS: Final = int(os.environ.get("DOVETEST_DECAYS", "40"))
BLOCKS: Final = 4
"""Number of tests over which the random damages are spread, so that they can run in parallel."""

DATABASE, LOG = FILES
_HEADER_BITS: Final = 96


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return make(tmp_path_factory.mktemp("closed") / "data", killed=False)


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Made:
    made = make(tmp_path_factory.mktemp("killed") / "data", killed=True)
    assert (made.directory / LOG).stat().st_size > PAGE_BYTES
    return made


@pytest.fixture(params=["closed", "killed"])
def made(request: pytest.FixtureRequest) -> Made:
    found: Made = request.getfixturevalue(request.param)
    return found


def judge(made: Made, decays: list[Decay], place: Path) -> None:
    for decay in decays:
        outcome = made.decayed(decay, place / "data")
        broken = list(broken_promises(made, decay, outcome))
        assert not broken, (decay, broken, [report.notes for report in outcome.reports])
        shutil.rmtree(place / "data")


def drawn(made: Made, kind: Kind, block: int) -> list[Decay]:
    rng = random.Random(f"{kind} {block}")
    decays = [draw_decay(made.directory, rng, [kind]) for _ in range(DECAYS // BLOCKS)]
    return [decay for decay in decays if decay is not None]


def pages_of(made: Made, file: str) -> range:
    return range((made.directory / file).stat().st_size // PAGE_BYTES)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_flipped_bit_costs_at_most_what_stood_there(made: Made, block: int, tmp_path: Path) -> None:
    judge(made, drawn(made, "flip", block), tmp_path)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_lost_stretch_costs_at_most_what_stood_there(
    made: Made, block: int, tmp_path: Path
) -> None:
    judge(made, drawn(made, "zero", block), tmp_path)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_cut_file_is_reported_and_the_rest_is_served(
    made: Made, block: int, tmp_path: Path
) -> None:
    for decay in drawn(made, "cut", block):
        outcome = made.decayed(decay, tmp_path / "data")
        broken = list(broken_promises_of_a_cut(made, outcome))
        assert not broken, (decay, broken, [report.notes for report in outcome.reports])
        shutil.rmtree(tmp_path / "data")


@pytest.mark.parametrize("half", range(2))
def test_every_page_of_the_database_may_be_lost(closed: Made, half: int, tmp_path: Path) -> None:
    pages = pages_of(closed, DATABASE)[half::2]
    judge(closed, [Decay("zero", DATABASE, PAGE_BYTES * page) for page in pages], tmp_path)


@pytest.mark.parametrize("half", range(2))
def test_header_of_every_page_may_be_hit(closed: Made, half: int, tmp_path: Path) -> None:
    rng = random.Random(half)
    decays = []
    for page in pages_of(closed, DATABASE)[half::2]:
        bit = rng.randrange(_HEADER_BITS)
        decays.append(Decay("flip", DATABASE, PAGE_BYTES * page + bit // 8, bit % 8))
    judge(closed, decays, tmp_path)


def test_header_of_a_frame_may_be_hit_anywhere(killed: Made, tmp_path: Path) -> None:
    frames = (killed.directory / LOG).stat().st_size // FRAME_BYTES
    rng = random.Random(5)
    decays = [
        Decay("flip", LOG, LOG_HEADER_BYTES + FRAME_BYTES * rng.randrange(frames) + byte, 2)
        for byte in range(24)
    ]
    judge(killed, decays, tmp_path)


def test_header_of_the_log_may_be_hit_anywhere(killed: Made, tmp_path: Path) -> None:
    judge(killed, [Decay("flip", LOG, byte, 4) for byte in range(LOG_HEADER_BYTES)], tmp_path)


def test_start_of_the_log_may_be_lost(killed: Made, tmp_path: Path) -> None:
    judge(killed, [Decay("zero", LOG, 0)], tmp_path)


def test_missing_database_is_reported(closed: Made, tmp_path: Path) -> None:
    outcome = closed.decayed(Decay("cut", DATABASE, 0), tmp_path / "data")
    assert not outcome.served
    assert [report.unnamed_count for report in outcome.reports] == [len(closed.stored)]


def test_missing_log_is_reported(killed: Made, tmp_path: Path) -> None:
    outcome = killed.decayed(Decay("cut", LOG, 0), tmp_path / "data")
    (report,) = outcome.reports
    assert "pages of the log are missing" in " ".join(report.notes)
    assert not list(broken_promises_of_a_cut(killed, outcome))


def test_damaged_seals_cost_nothing(made: Made, tmp_path: Path) -> None:
    rng = random.Random(9)
    size = 4_096 + 4 * len(pages_of(made, DATABASE))
    for _ in range(DECAYS // BLOCKS):
        decay = Decay("flip", "dovemq.seals", rng.randrange(size), rng.randrange(8))
        outcome = made.decayed(decay, tmp_path / "data")
        assert not outcome.lost
        assert outcome.peeked.keys() == made.stored.keys()
        shutil.rmtree(tmp_path / "data")


def test_two_damages_lose_nothing_without_a_word(made: Made, tmp_path: Path) -> None:
    rng = random.Random(21)
    for _ in range(DECAYS // BLOCKS):
        place = tmp_path / "data"
        shutil.copytree(made.directory, tmp_path / "once")
        first = draw_decay(tmp_path / "once", rng, ["flip", "zero"])
        assert first is not None
        apply_decay(tmp_path / "once", first)
        once = Made(tmp_path / "once", made.now_ms, made.stored, made.settled)
        second = draw_decay(once.directory, rng, ["flip", "zero"])
        assert second is not None
        outcome = once.decayed(second, place)
        broken = list(broken_promises_of_a_cut(made, outcome))
        assert not broken, (first, second, broken)
        shutil.rmtree(tmp_path / "once")
        shutil.rmtree(place)


def test_rebuilt_store_keeps_the_damaged_files(closed: Made, tmp_path: Path) -> None:
    decay = Decay("flip", DATABASE, 7 * PAGE_BYTES + 50, 1)
    outcome = closed.decayed(decay, tmp_path / "data")
    (report,) = outcome.reports
    shutil.copyfile(closed.directory / DATABASE, tmp_path / DATABASE)
    apply_decay(tmp_path, decay)
    kept = tmp_path / "data" / report.evidence / DATABASE
    assert kept.read_bytes() == (tmp_path / DATABASE).read_bytes()
