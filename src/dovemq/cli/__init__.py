"""The command `dovemq`: one module per group of commands.

Commands speak SQS and the admin API to a running server. Only `serve` and `restore` open a data
directory. Others read at most its key file and the file that says where its server listens.
"""

from dovemq.cli.program import build_parser as build_parser
from dovemq.cli.program import main as main
