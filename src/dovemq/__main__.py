"""`python -m dovemq` is the command `dovemq`."""

import sys

from dovemq.cli import main

if __name__ == "__main__":
    sys.exit(main())
