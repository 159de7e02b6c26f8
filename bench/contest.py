"""State spaces of ten nets like those of the Model Checking Contest: markings a second, memory.

    python -m bench.contest [--net NAME] [--json]

Each net is explored in a process of its own, up to `MARKINGS_MAX` markings. Times are seconds of
CPU and include the compilation of the net; memory is what the process needed beyond the imports.
To compare another version, put its `src` first in PYTHONPATH.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from typing import Final

from bench import nets
from bench.tables import Row, parser_of, show
from dovemq.models.petri import Limits, Net, Page, state_space

MARKINGS_MAX: Final = 200_000


def joined(page: Page, name: str, takes: str, puts: str) -> None:
    """A transition, and those of its places that the page does not have yet."""
    for place in (*takes.split(), *puts.split()):
        if place not in page.places:
            page.place(place)
    nets.wired(page, name, takes, puts)


def shared_memory(processors: int) -> Net:
    """Processors use their own memory, or one of the others' over one bus."""
    net = Net(f"shared memory {processors}")
    page = net.page("Main")
    page.place("bus", initial=1)
    for number in range(processors):
        page.place(f"active{number}", initial=1)
        page.place(f"own{number}", initial=1)
        page.place(f"waits{number}")
    for number in range(processors):
        joined(page, f"begin{number}", f"active{number} own{number}", f"works{number}")
        joined(page, f"end{number}", f"works{number}", f"active{number} own{number}")
        joined(page, f"ask{number}", f"active{number}", f"waits{number}")
        for other in range(processors):
            if other != number:
                using = f"uses{number}_{other}"
                joined(page, f"take{number}_{other}", f"waits{number} bus own{other}", using)
                joined(page, f"give{number}_{other}", using, f"active{number} bus own{other}")
    return net


def swimming_pool(visitors: int, cabins: int, bags: int) -> Net:
    """Visitors need a bag and a cabin to undress, and a cabin to dress."""
    net = Net(f"swimming pool {visitors}")
    page = net.page("Main")
    for name, tokens in {"out": visitors, "cabins": cabins, "bags": bags}.items():
        page.place(name, initial=tokens)
    joined(page, "enter", "out", "entered")
    joined(page, "get_bag", "entered bags", "with_bag")
    joined(page, "get_cabin", "with_bag cabins", "undresses")
    joined(page, "swim", "undresses", "swims cabins")
    joined(page, "leave_water", "swims", "wet")
    joined(page, "dress_begin", "wet cabins", "dresses")
    joined(page, "dress_end", "dresses", "dressed cabins")
    joined(page, "leave", "dressed", "out bags")
    return net


def dekker(processes: int) -> Net:
    """Processes that enter alone by flags, after Dekker."""
    net = Net(f"dekker {processes}")
    page = net.page("Main")
    for number in range(processes):
        page.place(f"idle{number}", initial=1)
        page.place(f"down{number}", initial=1)
    for number in range(processes):
        others = [other for other in range(processes) if other != number]
        lowered = " ".join(f"down{other}" for other in others)
        joined(page, f"try{number}", f"idle{number} down{number}", f"up{number} flag{number}")
        joined(page, f"enter{number}", f"up{number} {lowered}", f"inside{number} {lowered}")
        joined(page, f"exit{number}", f"inside{number} flag{number}", f"idle{number} down{number}")
        for other in others:
            back, seen = f"flag{number} up{number} flag{other}", f"idle{number} down{number}"
            joined(page, f"yield{number}_{other}", back, f"{seen} flag{other}")
    return net


def flow_line(machines: int, room: int) -> Net:
    """Machines in a row with buffers between them."""
    net = Net(f"flow line {machines}")
    page = net.page("Main")
    for number in range(machines):
        page.place(f"idle{number}", initial=1)
        page.place(f"free{number}", initial=room)
    for number in range(machines):
        before = f"part{number - 1}" if number else ""
        freed = f"free{number - 1}" if number else ""
        joined(page, f"load{number}", f"idle{number} {before}", f"busy{number} {freed}")
        joined(page, f"put{number}", f"busy{number} free{number}", f"idle{number} part{number}")
    last = machines - 1
    joined(page, "ship", f"part{last}", f"free{last}")
    return net


def readers_by_name(readers: int, permits: int) -> Net:
    """Readers ask for permits; one writer needs all of them."""
    net = Net(f"readers {readers}")
    page = net.page("Main")
    page.place("permits", initial=permits)
    page.place("writer", initial=1)
    for number in range(readers):
        page.place(f"idle{number}", initial=1)
        joined(page, f"ask{number}", f"idle{number}", f"asks{number}")
        joined(page, f"read{number}", f"asks{number} permits", f"reads{number}")
        joined(page, f"stop{number}", f"reads{number}", f"idle{number} permits")
    nets.wired(page, "write", f"writer {permits}*permits", "writer")
    page.arc("write", "permits", weight=permits)
    return net


def resource_allocation(rows: int, columns: int) -> Net:
    """Processes cross a grid of resources; each holds two of them on its way."""
    net = Net(f"resource allocation {rows}x{columns}")
    page = net.page("Main")
    for row in range(rows):
        for column in range(columns):
            page.place(f"r{row}_{column}", initial=1)
    for row in range(rows):
        held = f"r{row}_0"
        joined(page, f"start{row}", held, f"p{row}_0")
        for column in range(1, columns):
            side = f"r{(row + 1) % rows}_{column}"
            here, there = f"p{row}_{column - 1}", f"p{row}_{column}"
            joined(page, f"step{row}_{column}", f"{here} r{row}_{column} {side}", there)
            joined(page, f"drop{row}_{column}", there, f"r{row}_{column} {side} done{row}_{column}")
            joined(page, f"again{row}_{column}", f"done{row}_{column}", here)
    return net


NETS: Final[Mapping[str, Callable[[], Net]]] = {
    "kanban": lambda: nets.kanban(4),
    "fms": lambda: nets.fms(4),
    "philosophers": lambda: nets.philosophers(14),
    "token ring": lambda: nets.token_ring(12),
    "readers and writer": lambda: readers_by_name(11, 6),
    "shared memory": lambda: shared_memory(7),
    "swimming pool": lambda: swimming_pool(14, 9, 11),
    "dekker": lambda: dekker(14),
    "flow line": lambda: flow_line(30, 3),
    "resource allocation": lambda: resource_allocation(6, 5),
}


def explored(name: str) -> Row:
    net = NETS[name]()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    space = state_space(net, Limits(markings_max=MARKINGS_MAX))
    spent = time.process_time() - began
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "net": name,
        "markings": space.markings,
        "firings": space.edges,
        "complete": space.complete,
        "cpu_seconds": spent,
        "markings_per_second": space.markings / spent,
        "megabytes": (after - before) / 1024,
    }


def rows() -> list[Row]:
    own = [sys.executable, "-m", "bench.contest", "--json", "--net"]
    found: list[Row] = []
    for name in NETS:
        done = subprocess.run([*own, name], check=True, capture_output=True, text=True)
        found += json.loads(done.stdout)
    return found


def main() -> None:
    parser = parser_of("contest", __doc__)
    parser.add_argument("--net", choices=NETS, help="one net, in this process")
    args = parser.parse_args()
    show(rows() if args.net is None else [explored(args.net)], as_json=args.json)


if __name__ == "__main__":
    main()
