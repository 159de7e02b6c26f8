"""The source distribution: the same bytes each time, the same wheel, everything that tests need."""

import tarfile
from pathlib import Path

import dovemq
from tests.tidy.sources import ROOT, name_of, text_files
from tools.dist import build, check, metadata_of_archive, metadata_of_wheel


def test_same_tree_gives_the_same_bytes(distribution: tuple[Path, Path], tmp_path: Path) -> None:
    for first, second in zip(distribution, build(tmp_path), strict=True):
        assert first.name == second.name
        assert first.read_bytes() == second.read_bytes()


def test_unpacked_source_builds_the_same_wheel(
    distribution: tuple[Path, Path], tmp_path: Path
) -> None:
    archive, wheel = distribution
    with tarfile.open(archive) as packed:
        packed.extractall(tmp_path)
    (source,) = tmp_path.iterdir()
    target = tmp_path / "dist"
    target.mkdir()
    assert build(target, source)[1].read_bytes() == wheel.read_bytes()


def test_source_distribution_holds_every_file_that_is_read(
    distribution: tuple[Path, Path],
) -> None:
    with tarfile.open(distribution[0]) as packed:
        held = {name.partition("/")[2] for name in packed.getnames()}
    needed = [*map(name_of, text_files()), "LICENSE", "src/dovemq/py.typed"]
    fixtures = ROOT / "tests" / "fixtures"
    needed += [name_of(path) for path in fixtures.rglob("*") if path.is_file()]
    assert [name for name in needed if name not in held] == []


def test_package_index_would_take_both(distribution: tuple[Path, Path]) -> None:
    archive, wheel = distribution
    for found in (check(metadata_of_archive(archive)), check(metadata_of_wheel(wheel))):
        assert (found.name, str(found.version)) == ("dovemq", dovemq.__version__)
        assert "all" in (found.provides_extra or [])
