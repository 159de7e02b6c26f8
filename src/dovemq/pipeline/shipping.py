"""This package as one archive, for executors that have not installed it.

Their Python needs the libraries of the extra; only DoveMQ itself is sent.
"""

import zipfile
from pathlib import Path


def pack(folder: Path) -> Path:
    """Everything but what the interpreter made itself."""
    source = Path(__file__).parents[1]
    archive = folder / "dovemq.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        for path in sorted(source.rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                packed.write(path, Path("dovemq") / path.relative_to(source))
    return archive
