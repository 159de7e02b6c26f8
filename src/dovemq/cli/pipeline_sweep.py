"""`dovemq pipeline sweep`: replicates many configurations of a model with Spark."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dovemq.cli.command import FAILED, OK, Commands, WrongUse, add_command, read_text
from dovemq.cli.modelling import add_plot, read_toml, shown
from dovemq.cli.output import print_result, print_table
from dovemq.cli.pipeline_options import add_spark, pipeline_job
from dovemq.cli.sweeping import add_keeping, swept
from dovemq.cli.values import existing_file

if TYPE_CHECKING:
    from dovemq.experiments.figure import Panel
    from dovemq.models.sweeping import Sweep

_CURVES_MAX: Final = 10


def add(commands: Commands) -> None:
    summary = "replicate the configurations of a model with Spark; figures have intervals"
    example = "dovemq pipeline sweep sweep.toml --out found --plot found.svg"
    parser = add_command(commands, "sweep", _run, summary, example)
    text = "TOML file of model, grid, measures, run and replications"
    parser.add_argument("file", type=existing_file, metavar="SPEC.toml", help=text)
    add_keeping(parser, "default: the name of the file with -sweep")
    add_plot(parser, "picture of the measures")
    add_spark(parser)


def _run(args: argparse.Namespace) -> int:
    with pipeline_job() as ending:
        from dovemq.models.sweeping import read_sweep
        from dovemq.pipeline.sweep.job import results

        sweep = read_sweep(read_toml(args.file), lambda name: read_text(args.file.parent / name))
        folder = args.out or Path(f"{args.file.stem}-sweep")
        findings, paths = swept(args, sweep, folder, ending)
        rows = results(sweep, findings).to_pylist()
        if args.plot is not None:
            from dovemq.experiments.drawing import draw

            draw(f"dovemq pipeline sweep: {sweep.model}", panels(sweep, rows), [args.plot])
    missed = sum(not row["content"] for row in rows if row["replications"])
    total = sum(row["replications"] for row in rows)
    document = {
        "model": sweep.model,
        "confidence": sweep.confidence,
        "replications": total,
        "not_content": missed,
        "files": [str(path) for path in paths],
        "results": rows,
    }
    print_result(args, document, lambda: _print(sweep, rows, total, missed))
    if not args.json:
        print("\n".join(map(str, paths)))
    return FAILED if missed else OK


def panels(sweep: "Sweep", rows: Sequence[Mapping[str, Any]]) -> "list[Panel]":
    """Makes a panel for each measure, over the first numeric axis, with a curve for each other
    point.

    The title says if there are too many curves to show.
    """
    from dovemq.experiments.figure import Panel

    numeric = [
        axis for axis in sweep.axes if all(isinstance(row[axis], int | float) for row in rows)
    ]
    if not numeric:
        raise WrongUse("--plot needs an axis of numbers in the grid")
    axis = numeric[0]
    others = [name for name in sweep.axes if name != axis]
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        label = ", ".join(f"{name} = {row[name]}" for name in others) or sweep.model
        groups.setdefault(label, []).append(row)
    kept = list(groups.items())[:_CURVES_MAX]
    left_out = f" ({len(kept)} of {len(groups)} curves)" if len(kept) < len(groups) else ""
    return [
        Panel(
            f"{measure}{left_out}",
            axis,
            measure,
            tuple(_curve(label, own, axis, measure) for label, own in kept),
        )
        for measure in sweep.question.measures
    ]


def _curve(label: str, rows: Sequence[Mapping[str, Any]], axis: str, measure: str) -> Any:
    from dovemq.experiments.figure import Curve

    known = sorted((row for row in rows if row[measure] is not None), key=lambda row: row[axis])
    x, y, low, high = (
        tuple(float(row[name]) for row in known)
        for name in (axis, measure, f"{measure}_low", f"{measure}_high")
    )
    return Curve(label, x, y, low, high, points=len(x) == 1)


def _print(sweep: "Sweep", rows: Sequence[Mapping[str, Any]], total: int, missed: int) -> None:
    measures = sweep.question.measures
    heads = [*sweep.axes, "replications", *measures]
    table = [
        [
            *(shown(row[name]) for name in heads[: -len(measures)]),
            *(_with_interval(row, measure) for measure in measures),
        ]
        for row in rows
    ]
    print_table(heads, table)
    print(f"\n{len(rows)} configurations, {total:,} replications")
    if skipped := sum(row["stable"] is False and not row["replications"] for row in rows):
        print(f"{skipped} are unstable and were not run; [run] unstable = true runs them")
    if missed:
        print(f"{missed} reached max replications before the half-width that was asked for")


def _with_interval(row: Mapping[str, Any], measure: str) -> str:
    if row[measure] is None:
        return "unstable" if row["stable"] is False else "-"
    if row[f"{measure}_low"] is None:
        return shown(row[measure])
    return f"{row[measure]:.5g} ± {row[measure] - row[f'{measure}_low']:.2g}"
