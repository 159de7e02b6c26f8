"""Which code made a result: what was kept by other code is not to be mixed with it."""

import functools
import hashlib
from pathlib import Path


@functools.cache
def code_digest(package: Path) -> str:
    """Of all modules in the folder of a package; inside an archive there are none."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
