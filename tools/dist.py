"""Builds the wheel and the source distribution: `make dist`, or `python -m tools.dist`.

The same commit gives the same bytes: times in the archives are that of the commit. The wheel is
built from the source distribution, so that a distributor who has only that gets the same one, if
its files keep their times when it is unpacked. Both are checked by the rules that a package index
applies to their metadata.
"""

import argparse
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Final

from packaging.metadata import Metadata

ROOT: Final = Path(__file__).resolve().parents[1]
DIST: Final = ROOT / "dist"
UNPACKED_EPOCH: Final = "1580601600"
"""The time of hatchling, for a tree that is neither a clone nor a source distribution."""


def build(target: Path, source: Path = ROOT) -> tuple[Path, Path]:
    """Returns the new source distribution and the new wheel."""
    env = {**os.environ, "SOURCE_DATE_EPOCH": _epoch(source)}
    # Without isolation, so that the pinned hatchling of this environment builds.
    command = [
        sys.executable,
        "-m",
        "build",
        "--no-isolation",
        "--outdir",
        str(target),
        str(source),
    ]
    subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)
    (archive,) = target.glob("*.tar.gz")
    (wheel,) = target.glob("*.whl")
    return archive, wheel


def _epoch(source: Path) -> str:
    if "SOURCE_DATE_EPOCH" in os.environ:
        return os.environ["SOURCE_DATE_EPOCH"]
    if not (source / ".git").exists():
        # A source distribution has no commit, but each of its files has the commit's time.
        metadata = source / "PKG-INFO"
        return str(int(metadata.stat().st_mtime)) if metadata.exists() else UNPACKED_EPOCH
    asked = ["git", "log", "-1", "--format=%ct"]
    return subprocess.run(
        asked, cwd=source, check=True, capture_output=True, text=True
    ).stdout.strip()


def metadata_of_archive(archive: Path) -> bytes:
    with tarfile.open(archive) as files:
        content = files.extractfile(f"{archive.name.removesuffix('.tar.gz')}/PKG-INFO")
        assert content is not None
        return content.read()


def metadata_of_wheel(wheel: Path) -> bytes:
    with zipfile.ZipFile(wheel) as files:
        (name,) = (name for name in files.namelist() if name.endswith(".dist-info/METADATA"))
        return files.read(name)


def check(metadata: bytes) -> Metadata:
    """Raises a group of errors if a package index would refuse the metadata."""
    found = Metadata.from_email(metadata, validate=True)
    if found.description_content_type != "text/markdown" or not found.description:
        raise ValueError("the description is not the README as Markdown")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="build wheel and source distribution into dist/")
    parser.parse_args()
    for old in (*DIST.glob("dovemq-*.tar.gz"), *DIST.glob("dovemq-*.whl")):
        old.unlink()
    archive, wheel = build(DIST)
    check(metadata_of_archive(archive))
    check(metadata_of_wheel(wheel))
    for path in (archive, wheel):
        print(f"{path.relative_to(ROOT)}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
