"""The whole command line, and how its errors become lines and exit codes."""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Final

from dovemq.cli import (
    accounts,
    audit,
    backups,
    copies,
    cpn,
    dev,
    doctor,
    env,
    faults,
    imports,
    load,
    messages,
    model,
    pipeline,
    plan,
    queues,
    reproduce,
    serve,
)
from dovemq.cli.command import FAILED, INTERRUPTED, WRONG_USE, Interrupted, WrongUse
from dovemq.client.errors import Refused
from dovemq.core.errors import DoveError
from dovemq.settings import SettingInvalid

_ABOUT_KEYS: Final = frozenset(
    {
        "InvalidClientTokenId",
        "MissingAuthenticationToken",
        "SignatureDoesNotMatch",
        "AccessKeyUnknown",
        "SignatureMissing",
        "SignatureMismatch",
    }
)
"""As SQS names them, and as the admin API does."""
_GROUPS: Final = (
    serve,
    env,
    accounts,
    queues,
    messages,
    backups,
    imports,
    copies,
    cpn,
    load,
    faults,
    model,
    plan,
    pipeline,
    reproduce,
    audit,
    dev,
    doctor,
)


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dovemq",
        description="A self-hosted message queue service that speaks the SQS protocol.",
        epilog="example:\n  dovemq serve --data ./data",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for group in _GROUPS:
        group.add(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    args = build_parser().parse_args(argv)
    try:
        code: int = args.run(args)
        sys.stdout.flush()
        return code
    except (SettingInvalid, WrongUse) as error:
        return _fail(str(error), WRONG_USE)
    except Refused as error:
        return _fail(_with_remedy(error), FAILED)
    except DoveError as error:
        return _fail(str(error), FAILED)
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        return _fail(f"this is not text in {error.encoding}: {error.reason}", WRONG_USE)
    except BrokenPipeError:
        # The reader of our output has left; nothing more may be written, also not at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Interrupted as error:
        return _fail(str(error), error.code)
    except KeyboardInterrupt:
        return INTERRUPTED


def _fail(text: str, code: int) -> int:
    print(f"dovemq: {text}", file=sys.stderr)
    return code


def _with_remedy(error: Refused) -> str:
    if error.code not in _ABOUT_KEYS:
        return str(error)
    return f'{error}\ncheck the access key: eval "$(dovemq env)", or name the directory by --data'
