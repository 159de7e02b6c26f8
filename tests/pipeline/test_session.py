import subprocess
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dovemq.pipeline.errors import JavaUnfit
from dovemq.pipeline.session import check_java, pack

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def _java(folder: Path, text: str) -> dict[str, str]:
    program = folder / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{text}' >&2\n")
    program.chmod(0o755)
    return {"JAVA_HOME": str(folder)}


def test_java_of_a_version_that_spark_knows_is_taken(tmp_path: Path) -> None:
    environment = _java(tmp_path, 'openjdk version "17.0.15" 2025-04-15')
    assert check_java(environment) == tmp_path / "bin" / "java"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('openjdk version "11.0.2"', "is Java 11"),
        ('java version "1.8.0_392"', "is Java 8"),
        ("nonsense", "does not tell its version"),
    ],
)
def test_another_java_is_refused_with_what_to_install(
    tmp_path: Path, text: str, found: str
) -> None:
    with pytest.raises(JavaUnfit, match=found) as refused:
        check_java(_java(tmp_path, text))
    assert "openjdk-17-jre-headless" in str(refused.value)


def test_missing_java_is_reported(tmp_path: Path) -> None:
    with pytest.raises(JavaUnfit, match="no java is found"):
        check_java({"PATH": str(tmp_path)})
    with pytest.raises(JavaUnfit, match="cannot be run"):
        check_java({"JAVA_HOME": str(tmp_path)})


def test_workers_run_the_interpreter_of_the_session(spark: "SparkSession") -> None:
    def interpreter(_: int) -> str:
        return sys.executable

    found = spark.sparkContext.parallelize(range(2), 2).map(interpreter).collect()
    assert found == [sys.executable] * 2


def _in_archive(program: str, archive: Path) -> str:
    """Runs a program with the package from an archive alone, and returns its output."""
    environment = {"PYTHONPATH": str(archive), "HOME": "/nonexistent"}
    command = [sys.executable, "-c", program]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout


def test_a_package_inside_an_archive_can_be_sent_on(tmp_path: Path) -> None:
    archive = pack(tmp_path)
    (tmp_path / "again").mkdir()
    program = "import pathlib, sys; from dovemq.pipeline.session import pack; "
    _in_archive(program + f"pack(pathlib.Path({str(tmp_path / 'again')!r}))", archive)
    again = zipfile.ZipFile(tmp_path / "again" / "dovemq.zip")
    assert again.namelist() == zipfile.ZipFile(archive).namelist()
    assert [name for name in again.namelist() if name.endswith(".sql")]


def test_kernels_run_inside_an_archive_without_a_cache(tmp_path: Path) -> None:
    order = "from dovemq.models.consistency import order_of; print(order_of([2, 1]).out_of_order)"
    kernel = (
        "from dovemq.models.simulation.compiled import kernel; print(kernel(lambda x: x + 1)(1))"
    )
    assert _in_archive(f"{order}; {kernel}", pack(tmp_path)) == "1\n2\n"


def test_the_package_can_be_imported_from_what_is_sent_to_executors(tmp_path: Path) -> None:
    archive = pack(tmp_path)
    assert not [name for name in zipfile.ZipFile(archive).namelist() if "__pycache__" in name]
    program = "import dovemq.models.consistency as found; print(found.__file__)"
    assert _in_archive(program, archive).startswith(str(archive))
