"""The page of the results that are kept in the repository, from their JSON files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from dovemq.experiments.catalogue import EXPERIMENTS
from dovemq.experiments.provenance import Machine, Provenance
from dovemq.experiments.results import FigureResult, read_results
from tools.markdown import code, page, section, table

RESULTS: Final = Path(__file__).resolve().parents[1] / "docs" / "results"
PAGE: Final = RESULTS / "README.md"


def results_page() -> str:
    results = read_results(RESULTS)
    kept = {each.id for each in results}
    absent = [code(name) for name in EXPERIMENTS if name not in kept]
    machines = dict.fromkeys(run.machine for _, run in _runs(results))
    return page(
        "Results",
        "Figures of `dovemq reproduce` in their full form, with the commit and the machine that "
        "made them. `dovemq reproduce report --out docs/results` writes them as one page, "
        "`report.html`, which is not kept; [how to reproduce the "
        "papers](../how-to/reproduce-the-papers.md) says how to read it. The Parquet and PNG files "
        "are left out. Machines may have had other work: see the load.",
        section("Kept", table(_HEAD, [_row(each, run) for each, run in _runs(results)])),
        section("Machines", "\n".join(f"- {_machine(each)}" for each in machines)),
        section("Not kept yet", ", ".join(absent) if absent else "All results are kept."),
    )


_HEAD: Final = (
    "id",
    "figure",
    "holds",
    "does not",
    "too short",
    "made",
    "took",
    "load",
    "commit",
)


def _runs(results: list[FigureResult]) -> Iterator[tuple[FigureResult, Provenance]]:
    return ((each, each.run) for each in results if each.run is not None)


def _row(result: FigureResult, run: Provenance) -> tuple[str, ...]:
    return (
        f"[{code(result.id)}]({result.id}.json)",
        result.title,
        str(result.claims.hold),
        str(result.claims.do_not_hold),
        str(result.claims.too_short_to_tell),
        run.began[:10],
        f"{run.duration_s:,.0f} s",
        f"{run.load_begin:.0f} to {run.load_end:.0f}",
        code(run.commit),
    )


def _machine(machine: Machine) -> str:
    memory = f"{machine.memory_bytes / 2**30:.0f} GiB of memory"
    return f"{machine.cpus} CPUs ({machine.cpu_model}), {memory}, {machine.system}"


def main() -> None:
    PAGE.write_text(results_page())


if __name__ == "__main__":
    main()
