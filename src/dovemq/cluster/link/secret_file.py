"""The secret that the front ends of a cluster share, from a file that others cannot read.

The file may be a symbolic link, as the files of a Kubernetes Secret are.
"""

import os
from pathlib import Path
from typing import Final

from dovemq.cluster.link.bounds import SECRET_BYTES_MIN
from dovemq.core.errors import StoreUnusable
from dovemq.system.private_files import check_shown

SECRET_FILE_BYTES_MAX: Final = 4_096
_REMEDY: Final = "make one by `openssl rand -hex 32` and copy it to all front ends"


def read_cluster_secret(path: Path) -> bytes:
    """The secret without the white space around it; raises `StoreUnusable`."""
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            text = file.read(SECRET_FILE_BYTES_MAX + 1)
    except OSError as error:
        raise StoreUnusable(str(path), f"cannot be read ({error.strerror})", _REMEDY) from None
    check_shown(path, found)
    secret = text.strip()
    if len(text) > SECRET_FILE_BYTES_MAX:
        raise StoreUnusable(str(path), f"has more than {SECRET_FILE_BYTES_MAX} bytes", _REMEDY)
    if len(secret) < SECRET_BYTES_MIN:
        reason = f"has {len(secret)} bytes, fewer than {SECRET_BYTES_MIN}"
        raise StoreUnusable(str(path), reason, _REMEDY)
    return secret
