"""Tables, sizes and the progress line."""

import asyncio
import io

import pytest

from dovemq.cli.output import Progress, print_pairs, print_table, size_text


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_table_is_as_wide_as_its_cells_with_numbers_to_the_right(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_table(("QUEUE", "N"), [("a", 5), ("longer", 1234)])
    assert capsys.readouterr().out == "QUEUE      N\na          5\nlonger  1234\n"


def test_table_without_rows_is_its_head(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("QUEUE", "N"), [])
    assert capsys.readouterr().out == "QUEUE  N\n"


def test_pairs_are_aligned(capsys: pytest.CaptureFixture[str]) -> None:
    print_pairs([("a", 1), ("longer", "x")])
    assert capsys.readouterr().out == "a       1\nlonger  x\n"


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (3 << 20, "3.0 MiB"), (5 << 30, "5.0 GiB")],
)
def test_sizes_are_told_in_readable_units(size: int, text: str) -> None:
    assert size_text(size) == text


def test_progress_is_written_over_and_wiped_at_the_end() -> None:
    stream = Terminal()

    async def work() -> None:
        shown = asyncio.Event()

        def text() -> str:
            shown.set()
            return "7 done"

        async with Progress(text, stream, after_seconds=0):
            await shown.wait()

    asyncio.run(work())
    assert stream.getvalue() == "\r7 done\r      \r"


def test_progress_says_nothing_to_a_file() -> None:
    stream = io.StringIO()

    async def work() -> None:
        async with Progress(lambda: "7 done", stream, after_seconds=0):
            for _ in range(10):
                await asyncio.sleep(0)

    asyncio.run(work())
    assert stream.getvalue() == ""


def test_short_work_has_no_progress() -> None:
    stream = Terminal()

    async def work() -> None:
        async with Progress(lambda: "7 done", stream):
            await asyncio.sleep(0)

    asyncio.run(work())
    assert stream.getvalue() == ""
