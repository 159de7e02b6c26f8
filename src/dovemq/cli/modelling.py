"""What the commands on models share: their extra, their parameter files, sweeps and numbers."""

import argparse
import contextlib
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from dovemq.cli.command import WrongUse, output_file
from dovemq.cli.output import print_pairs
from dovemq.models.errors import ModelError
from dovemq.models.grids import spaced

EXTRA: Final = "this command needs more packages: pip install 'dovemq[{}]'"
FILE_BYTES_MAX: Final = 1 << 20
_PICTURES: Final = (".png", ".svg", ".pdf")
_PACKAGES: Final = frozenset(
    ("duckdb", "matplotlib", "numba", "numpy", "pandas", "pyarrow", "pyspark", "scipy")
)


@contextlib.contextmanager
def modelling(extra: str = "models") -> Iterator[None]:
    """Around the imports and the work: a missing extra and a wrong question become wrong use."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _PACKAGES:
            raise
        raise WrongUse(EXTRA.format(extra)) from error
    except ModelError as error:
        raise WrongUse(str(error)) from error


def read_toml(path: Path) -> dict[str, Any]:
    try:
        data = path.read_bytes()
        if len(data) > FILE_BYTES_MAX:
            raise WrongUse(f"{path}: longer than {FILE_BYTES_MAX} bytes")
        return tomllib.loads(data.decode())
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise WrongUse(f"{path}: cannot be read: {error}") from None


def real(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number") from None
    if math.isnan(value):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number")
    return value


def reals(text: str) -> list[float]:
    """`10` or `10,12.5`."""
    return [real(part) for part in text.split(",")]


def picture(text: str) -> Path:
    path = output_file(text)
    if path.suffix not in _PICTURES:
        raise argparse.ArgumentTypeError(f"{text!r} does not end in {', '.join(_PICTURES)}")
    return path


def sweep(text: str) -> tuple[str, list[float]]:
    """`NAME=FROM:TO`, `NAME=FROM:TO:STEP` or `NAME=VALUE,VALUE,…`."""
    name, sign, values = text.partition("=")
    if not sign or not name or not values:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=FROM:TO:STEP or NAME=V1,V2,…")
    if ":" not in values:
        return _named(name), reals(values)
    try:
        return _named(name), [float(value) for value in spaced(name, values)]
    except ModelError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _named(name: str) -> str:
    return name.replace("-", "_")


def given(args: argparse.Namespace, names: Sequence[str]) -> dict[str, Any]:
    """Parameters of `--from FILE`, overridden by flags; names that are not known are refused."""
    found: dict[str, Any] = {}
    if args.source is not None:
        found = read_toml(args.source)
        if unknown := sorted(set(found) - set(names)):
            raise WrongUse(f"{args.source}: {unknown[0]} is none of {', '.join(names)}")
    flags = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    return {**found, **flags}


def one_or_pair(name: str, value: Any) -> tuple[float, float]:
    """For the sender and the broker; one number serves both."""
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


def told(value: float | None) -> float | None:
    """As JSON has it: what is not finite is no number, and told as null."""
    return value if value is not None and math.isfinite(value) else None


def plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: told(value) if isinstance(value, float) else value for name, value in row.items()}


def print_parts(parts: Mapping[str, Mapping[str, Any]]) -> None:
    """Each with its name above its pairs."""
    for name, pairs in parts.items():
        print(f"\n{name}")
        print_pairs((f"  {key}", shown(value)) for key, value in pairs.items())


def shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}" if math.isfinite(value) else "unstable"
    return "-" if value is None else str(value)


def add_source(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--from",
        dest="source",
        type=Path,
        metavar="FILE",
        help="parameters by name in TOML; flags come before them",
    )


def add_sweep(parser: argparse.ArgumentParser, example: str) -> None:
    parser.add_argument(
        "--sweep",
        type=sweep,
        metavar="NAME=FROM:TO:STEP",
        help=f"one row for each value of a parameter, e.g. {example}; also NAME=V1,V2,…",
    )
    parser.add_argument(
        "--plot", type=picture, metavar="FILE", help="draw the sweep as .png, .svg or .pdf"
    )


def check_sweep(args: argparse.Namespace, alone: Sequence[str]) -> None:
    """`alone` are options that are about one configuration."""
    if args.sweep is not None and (asked := [name for name in alone if getattr(args, name)]):
        raise WrongUse(f"--{asked[0]} is about one configuration: leave --sweep out")
    if args.plot is not None and args.sweep is None:
        raise WrongUse("--plot draws a sweep: add --sweep NAME=FROM:TO:STEP")
