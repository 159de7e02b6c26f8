"""The cost of writing journals and of checking them.

    python -m bench.journals [--messages 1000000] [--rows-max 500000] [--json]

Each message is sent, acknowledged, received and settled: one row in each of two journals, both
with their answer filled in. Memory is the peak of the process that checks, which starts fresh.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import msgspec

from bench.tables import parser_of, show
from dovemq.load.checker import ROWS_MAX, check
from dovemq.load.journals import SUFFIX, ReceiverJournal, SenderJournal
from dovemq.load.reading import open_journals

QUEUES: Final = ("jobs",)
SENDERS: Final = 30
LEASE_US: Final = 30_000_000
MESSAGE_ID: Final = "01234567-89ab-4def-8000-{:012x}"


def write_sends(folder: Path, messages: int) -> float:
    """Returns CPU seconds."""
    ids = [MESSAGE_ID.format(number) for number in range(messages)]
    with SenderJournal("bench", QUEUES, folder / f"senders{SUFFIX}") as journal:
        started = time.process_time()
        for number, message_id in enumerate(ids):
            slot = journal.sending(0, number % SENDERS, number // SENDERS, number, 1_024, number)
            journal.acknowledged(slot, message_id, number)
        return time.process_time() - started


def write_receives(folder: Path, messages: int) -> float:
    """Returns CPU seconds. 1 % of the messages change places with the next of their sender."""
    ids = [MESSAGE_ID.format(number) for number in range(messages)]
    order = list(range(messages))
    for place in range(0, messages - SENDERS, 100):
        order[place], order[place + SENDERS] = order[place + SENDERS], order[place]
    with ReceiverJournal("bench", QUEUES, folder / f"receivers{SUFFIX}") as journal:
        started = time.process_time()
        for now_us, number in enumerate(order):
            sender, seq = number % SENDERS, number // SENDERS
            slot = journal.received(
                0, 0, sender, seq, ids[number], number, 1_024, 1, now_us, now_us, LEASE_US
            )
            journal.settling(slot, now_us)
            journal.settled(slot, now_us)
        return time.process_time() - started


def checked(folder: Path, rows_max: int) -> dict[str, float]:
    """Checks in a process of its own."""
    command = [sys.executable, "-m", "bench.journals", "--check", str(folder)]
    done = subprocess.run(
        [*command, "--rows-max", str(rows_max)], check=True, capture_output=True, text=True
    )
    found: dict[str, float] = msgspec.json.decode(done.stdout)
    return found


def check_here(folder: Path, rows_max: int) -> None:
    before = _peak_mib()
    started = time.process_time()
    report = check(open_journals([folder]), rows_max=rows_max)
    assert not report.failed
    found = {
        "check_cpu_seconds": time.process_time() - started,
        "check_memory_mib": _peak_mib() - before,
        "out_of_order_rate": report.rates["out_of_order_rate"],
    }
    print(msgspec.json.encode(found).decode())


def _peak_mib() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1_024


def main() -> None:
    parser = parser_of("journals", __doc__)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--rows-max", type=int, default=ROWS_MAX)
    parser.add_argument("--check", type=Path, metavar="DIR", help="only check these journals")
    args = parser.parse_args()
    if args.check:
        check_here(args.check, args.rows_max)
        return
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        send_seconds = write_sends(folder, args.messages)
        receive_seconds = write_receives(folder, args.messages)
        row = {
            "messages": args.messages,
            "send_row_us": 1e6 * send_seconds / args.messages,
            "receive_row_us": 1e6 * receive_seconds / args.messages,
            "rows_max": args.rows_max,
            **checked(folder, args.rows_max),
        }
        show([row], as_json=args.json)


if __name__ == "__main__":
    main()
