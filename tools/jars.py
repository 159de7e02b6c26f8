"""Fetches the jars that the tests with Cassandra need: `python -m tools.jars`, in `make setup`.

Without Maven or a network the tests are skipped, unless `CI` is `true`; so is the failure here.
"""

import os
import sys
from pathlib import Path
from typing import Final

from dovemq.testing.local_cassandra import cassandra_jars
from dovemq.testing.maven_jars import JarsMissing

JARS: Final = Path(__file__).resolve().parents[1] / ".cache" / "jars"
"""The directory of all jars that tests fetch."""


def main() -> int:
    try:
        cassandra_jars(JARS, lambda line: print(line, flush=True))
    except JarsMissing as error:
        print(f"{error}\ntests with Cassandra will be skipped (and fail in CI)", file=sys.stderr)
        return int(os.environ.get("CI") == "true")
    return 0


if __name__ == "__main__":
    sys.exit(main())
