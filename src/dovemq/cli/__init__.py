"""The command `dovemq`: one module per group of commands.

Speaks SQS and the admin API to a running server. Only `serve` and `restore` open a data
directory; `env` and the search for an access key read its key file.
"""

from dovemq.cli.program import build_parser, main

__all__ = ["build_parser", "main"]
