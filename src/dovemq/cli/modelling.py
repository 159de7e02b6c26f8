"""Shared by the commands on models: missing packages, parameter files, sweeps, numbers."""

import argparse
import contextlib
import math
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dovemq.cli.command import CommandParser, WrongUse, read_text
from dovemq.cli.output import print_pairs, print_table
from dovemq.cli.values import output_file
from dovemq.models.errors import ModelError
from dovemq.models.grids import spaced
from dovemq.system.extras import extra_missing

if TYPE_CHECKING:
    from dovemq.models.analytic import Headroom

APPROXIMATIONS: Final = ("allen-cunneen", "kraemer-langenbach-belz")
_PICTURES: Final = (".png", ".svg", ".pdf")
_PACKAGES: Final = frozenset(
    ("duckdb", "matplotlib", "numba", "numpy", "pandas", "pyarrow", "pyspark", "scipy")
)


@contextlib.contextmanager
def modelling(extra: str = "models") -> Iterator[None]:
    """Turns a missing package and an error of a model into wrong use of the command."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _PACKAGES:
            raise
        raise WrongUse(f"{error.name} is not installed; {extra_missing(extra)}") from error
    except ModelError as error:
        raise WrongUse(str(error)) from error


def read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise WrongUse(f"{path}: cannot be read: {error}") from None


def toml_value(text: str) -> int | float | bool | str:
    """The value that a text stands for: a number, true, false, or else the text itself."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


def real(text: str) -> float:
    with contextlib.suppress(ValueError):
        if not math.isnan(value := float(text)):
            return value
    raise argparse.ArgumentTypeError(f"{text!r} is not a number")


def reals(text: str) -> list[float]:
    """`10` or `10,12.5`."""
    return [real(part) for part in text.split(",")]


def picture(text: str) -> Path:
    """A picture to write: .png, .svg or .pdf."""
    path = output_file(text)
    if path.suffix not in _PICTURES:
        raise argparse.ArgumentTypeError(f"{text!r} does not end in {', '.join(_PICTURES)}")
    return path


def sweep(text: str) -> tuple[str, list[float]]:
    """`NAME=FROM:TO`, `NAME=FROM:TO:STEP` or `NAME=VALUE,VALUE,…`."""
    name, sign, values = text.partition("=")
    if not sign or not name or not values:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=FROM:TO:STEP or NAME=V1,V2,…")
    return name.replace("-", "_"), axis(values, name)


def axis(text: str, name: str = "it") -> list[float]:
    """`1,2.5`, `1:8` or `1:8:0.5`."""
    if ":" not in text:
        return reals(text)
    try:
        return [float(value) for value in spaced(name, text)]
    except ModelError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def given(args: argparse.Namespace, names: Sequence[str]) -> dict[str, Any]:
    """Reads the parameters of `--from FILE`; flags take precedence, unknown names are refused."""
    found: dict[str, Any] = {}
    if args.source is not None:
        found = read_toml(args.source)
        if unknown := sorted(set(found) - set(names)):
            raise WrongUse(f"{args.source}: {unknown[0]} is none of {', '.join(names)}")
    return {**found, **flags_of(args, names)}


def flags_of(args: argparse.Namespace, names: Sequence[str]) -> dict[str, Any]:
    """The flags that are given, by name."""
    return {name: getattr(args, name) for name in names if getattr(args, name) is not None}


def topic_rates(text: dict[str, Any], topic: str | None) -> tuple[dict[str, Any], float]:
    """The parameters of a topic of a planning file, and the file's unit of time in seconds.

    `topic` may be None if the file has one topic.
    """
    from dovemq.models.analytic import network_measures
    from dovemq.models.planning import read_spec

    spec = read_spec(text)
    network = spec.problem.network
    names = [each.name for each in network.topics]
    name = names[0] if topic is None and len(names) == 1 else topic
    if name not in names:
        raise WrongUse(f"--topic: name one of {', '.join(names)}")
    place = names.index(name)
    measures, found = network_measures(network), network.topics[place]
    rates = {
        "arrival_rate": float(measures.topics.arrival_rate[place]),
        "arrival_scv": float(measures.arrival_scvs[place]),
        "service_rate": found.service_rate,
        "service_scv": found.service_scv,
        "servers": found.consumers,
    }
    return rates, spec.unit_seconds


def one_or_pair(name: str, value: Any) -> tuple[float, float]:
    """Reads the numbers of the sender and the broker; one number is for both."""
    values = numbers(name, value)
    if len(values) > 2:
        raise WrongUse(f"{name}: {len(values)} numbers, one or two are needed: SENDER,BROKER")
    return values[0], values[-1]


def numbers(name: str, value: Any) -> list[float]:
    listed = value if isinstance(value, list) else [value]
    if not listed or not all(_is_number(each) for each in listed):
        raise WrongUse(f"{name}: {value!r} is not a number, nor a list of them")
    return [float(each) for each in listed]


def number(name: str, value: Any) -> float:
    if not _is_number(value):
        raise WrongUse(f"{name}: {value!r} is not a number")
    return float(value)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def required(found: Mapping[str, Any], name: str) -> Any:
    if name not in found:
        raise WrongUse(f"--{name.replace('_', '-')} is needed, or {name} in the file of --from")
    return found[name]


def known(value: float) -> float | None:
    """Returns None for NaN, which stands for a figure that the model does not know."""
    return None if math.isnan(value) else value


def finite(value: float | None) -> float | None:
    """Returns None, which is null in JSON, for a value that is not finite."""
    return value if value is not None and math.isfinite(value) else None


def print_rows(heads: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    print_table(heads, [[shown(row[head]) for head in heads] for row in rows])


def print_parts(parts: Mapping[str, Mapping[str, Any]]) -> None:
    """Prints the name of each part above its pairs."""
    for name, pairs in parts.items():
        print(f"\n{name}")
        print_pairs((f"  {key}", shown(value)) for key, value in pairs.items())


def shown(value: object) -> str:
    if isinstance(value, float):
        if math.isnan(value):
            return "unknown"
        return f"{value:.6g}" if math.isfinite(value) else "unstable"
    return "-" if value is None else str(value)


def add_source(parser: CommandParser) -> None:
    text = "TOML file of parameters by name; flags take precedence"
    parser.option("--from", "FILE", text, Path, dest="source")


def add_sweep(parser: CommandParser, example: str) -> None:
    text = f"values of a parameter, one row for each, such as {example}; also NAME=V1,V2,…"
    parser.option("--sweep", "NAME=FROM:TO:STEP", text, sweep)
    add_plot(parser, "picture of the sweep")


def add_plot(parser: CommandParser, what: str) -> None:
    parser.option("--plot", "FILE", f"{what}: .png, .svg or .pdf", picture)


def check_sweep(args: argparse.Namespace, alone: Sequence[str]) -> None:
    """Refuses options about one configuration together with a sweep, and a plot without one."""
    if args.sweep is not None and (asked := [name for name in alone if getattr(args, name)]):
        raise WrongUse(f"--{asked[0]} is about one configuration: leave out --sweep")
    if args.plot is not None and args.sweep is None:
        raise WrongUse("--plot draws a sweep: add --sweep NAME=FROM:TO:STEP")


def headroom_pairs(room: "Headroom") -> dict[str, Any]:
    return {"met": bool(room.met), **floats_of(room, "arrival_rate_max", "factor")}


def floats_of(figures: Any, *names: str) -> dict[str, float]:
    """The named figures of a value, or all figures of a dataclass."""
    return {
        name: float(getattr(figures, name)) for name in names or type(figures).__dataclass_fields__
    }


def plot_sweep(
    args: argparse.Namespace,
    title: str,
    label: str,
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
) -> None:
    from dovemq.experiments.drawing import draw
    from dovemq.experiments.figure import Curve, Panel

    name = args.sweep[0]
    values = tuple(float(row[name]) for row in rows)
    panels = [
        Panel(column, name, column, (Curve(label, values, tuple(row[column] for row in rows)),))
        for column in columns
        if column in rows[0]
    ]
    draw(title, panels, [args.plot])
