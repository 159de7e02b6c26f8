"""Every module is used, and imports only what its place allows."""

import sys
from collections.abc import Iterable, Mapping

from tests.tidy.sources import Source, imported_names, sources

ENTRY_POINTS = frozenset(
    (
        "dovemq",
        "dovemq.__main__",
        "dovemq.cli",
        "dovemq.pipeline.datasource",
        "dovemq.testing.plugin",
    )
)
PUBLIC_KIT = "dovemq.testing."
CORE_MAY_IMPORT = frozenset(("msgspec",))
BASE_INSTALL = frozenset(
    ("apsw", "argon2", "httptools", "msgspec", "prometheus_client", "shtab", "uvloop")
)
ONLY_FOR_TESTS = frozenset(("pytest",))
EXTRAS: Mapping[str, frozenset[str]] = {
    "src/dovemq/bridge/broker.py": frozenset(("paho",)),
    "src/dovemq/experiments/": frozenset(("matplotlib", "numpy", "pyarrow")),
    "src/dovemq/load/": frozenset(("numpy",)),
    "src/dovemq/models/": frozenset(("numba", "numpy", "scipy")),
    "src/dovemq/pipeline/": frozenset(
        ("duckdb", "matplotlib", "numpy", "pandas", "py4j", "pyarrow", "pyspark", "scipy")
    ),
    "src/dovemq/pipeline/source/folders.py": frozenset(("boto3",)),
    "src/dovemq/stores/cassandra/": frozenset(("acsylla",)),
    "src/dovemq/stores/postgresql/": frozenset(("asyncpg",)),
    "src/dovemq/stores/redis_cluster/": frozenset(("hiredis", "redis")),
    "src/dovemq/telemetry/columns.py": frozenset(("numpy", "pyarrow")),
    "src/dovemq/telemetry/files.py": frozenset(("pyarrow",)),
    "src/dovemq/telemetry/remote.py": frozenset(("pyarrow",)),
    "src/dovemq/telemetry/span_export.py": frozenset(("opentelemetry",)),
    "src/dovemq/telemetry/spans.py": frozenset(("opentelemetry",)),
    "src/dovemq/terminal/": frozenset(("rich", "textual")),
    "src/dovemq/testing/local_s3.py": frozenset(("pyarrow",)),
    "src/dovemq/workflows/sizing/allocators/keda.py": frozenset(("grpc",)),
    "src/dovemq/workflows/sizing/allocators/keda_messages.py": frozenset(("google",)),
    "src/dovemq/workflows/sizing/allocators/kubernetes.py": frozenset(("kubernetes", "urllib3")),
    "src/dovemq/workflows/sizing/front_ends.py": frozenset(("numpy",)),
    "src/dovemq/workflows/sizing/planning.py": frozenset(("numpy",)),
}
"""Packages of the extras, by the place of the modules that may import them."""


def _outside_names(source: Source) -> set[str]:
    tops = {module.partition(".")[0] for module, _, _ in imported_names(source)}
    return {top for top in tops if top not in sys.stdlib_module_names and top != "dovemq"}


def _used_by(readers: Iterable[Source]) -> set[str]:
    used = set()
    for source in readers:
        for module, name, _ in imported_names(source):
            for target in (module, f"{module}.{name}" if name else module):
                if target != source.module:
                    used.add(target)
    return used


def test_no_module_is_dead() -> None:
    used = _used_by(sources("src"))
    found = [
        source.name
        for source in sources("src")
        if source.module not in used | ENTRY_POINTS
        and not source.module.startswith(PUBLIC_KIT)
        and not source.name.endswith("__init__.py")
    ]
    assert not found, "import it or remove it"


def test_core_imports_only_msgspec_and_the_standard_library() -> None:
    found = {
        source.name: extra
        for source in sources("src")
        if source.name.startswith("src/dovemq/core/")
        and (extra := _outside_names(source) - CORE_MAY_IMPORT)
    }
    assert not found


def _extra_names(source: Source) -> set[str]:
    return {
        name for place, names in EXTRAS.items() if source.name.startswith(place) for name in names
    }


def test_the_product_imports_only_the_base_install_and_the_extra_of_its_place() -> None:
    found = {
        source.name: extra
        for source in sources("src")
        if (extra := _outside_names(source) - BASE_INSTALL - _extra_names(source))
        and not (source.module.startswith(PUBLIC_KIT) and extra <= ONLY_FOR_TESTS)
    }
    assert not found


def test_nothing_of_the_product_imports_its_tests() -> None:
    found = [
        f"{source.name}:{line}"
        for source in sources("src", "examples")
        for module, _, line in imported_names(source)
        if module.partition(".")[0] in ("tests", "bench", "tools")
    ]
    assert not found
