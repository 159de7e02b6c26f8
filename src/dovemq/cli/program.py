"""The whole command line, and the exit code and message for each kind of error."""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Final

from dovemq import __version__
from dovemq.cli import (
    accounts,
    audit,
    backups,
    bridge,
    cluster,
    completion,
    cpn,
    dev,
    doctor,
    env,
    faults,
    imports,
    load_check,
    load_run,
    messages,
    model_closed,
    model_jackson,
    model_network,
    model_queue,
    model_vma,
    pipeline_calibrate,
    pipeline_capacity,
    pipeline_metrics,
    pipeline_monitor,
    pipeline_sweep,
    plan,
    queues,
    reproduce,
    serve,
    top,
    transfers,
    workflow,
)
from dovemq.cli.command import (
    FAILED,
    INTERRUPTED,
    OK,
    WRONG_USE,
    CommandParser,
    Commands,
    Interrupted,
    WrongUse,
    add_group,
    add_parser,
)
from dovemq.client.errors import Refused
from dovemq.core.errors import DoveError
from dovemq.settings import SettingInvalid

_QUEUE_MISSING: Final = "NonExistentQueue"
_KEY_ERRORS: Final = frozenset(
    {
        "InvalidClientTokenId",
        "MissingAuthenticationToken",
        "SignatureDoesNotMatch",
        "AccessKeyUnknown",
        "SignatureMissing",
        "SignatureMismatch",
    }
)
"""Codes of SQS and of the admin API for a missing or wrong access key."""


def _add_commands(commands: Commands) -> None:
    for module in (serve, env, accounts, queues, messages, transfers, backups, imports, cpn):
        module.add(commands)
    summary = "drive a queue service and account for every message"
    example = "dovemq load run --senders 8 --receivers 8 --messages 1000"
    actions = add_group(commands, "load", summary, example)
    load_run.add(actions)
    load_check.add(actions)
    faults.add(commands)
    workflow.add(commands)
    summary = "predict waiting times and utilisation of queues"
    example = "dovemq model queue --arrival-rate 30 --service-rate 10 --servers 4"
    models = add_group(commands, "model", summary, example, "MODEL")
    for model in (model_vma, model_queue, model_network, model_jackson, model_closed):
        model.add(models)
    plan.add(commands)
    summary = "measure traces, calibrate models and sweep them, with Spark or on this machine"
    example = "dovemq pipeline metrics ./trace"
    jobs = add_group(commands, "pipeline", summary, example, "JOB")
    for job in (pipeline_calibrate, pipeline_capacity, pipeline_metrics, pipeline_monitor):
        job.add(jobs)
    pipeline_sweep.add(jobs)
    for module in (top, bridge, reproduce, audit, cluster, dev, doctor, completion):
        module.add(commands)
    _add_help(commands)


def build_parser() -> CommandParser:
    parser = CommandParser(
        prog="dovemq",
        description="A self-hosted message queue service that speaks the SQS protocol.",
        epilog="example:\n  dovemq serve --data ./data",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"dovemq {__version__}")
    _add_commands(parser.add_subparsers(metavar="COMMAND"))
    return parser


def _add_help(commands: Commands) -> None:
    parser = add_parser(commands, "help", "show the help of a command", "dovemq help queue create")
    parser.add_argument("command", nargs="*", metavar="COMMAND", help="words of the command")
    parser.set_defaults(run=_help)


def _help(args: argparse.Namespace) -> int:
    build_parser().parse_args([*args.command, "--help"])
    return OK


def main(argv: Sequence[str] | None = None) -> int:
    parser = build_parser()
    args = parser.parse_command(argv)
    if not hasattr(args, "run"):
        parser.print_help()
        return OK
    try:
        code: int = args.run(args)
        sys.stdout.flush()
        return code
    except (SettingInvalid, WrongUse) as error:
        return _fail(str(error), WRONG_USE)
    except Refused as error:
        return _fail(_explained(error, args), FAILED)
    except DoveError as error:
        return _fail(str(error), FAILED)
    except (UnicodeDecodeError, UnicodeEncodeError) as error:
        return _fail(f"the input is not {error.encoding} text: {error.reason}", WRONG_USE)
    except BrokenPipeError:
        # The reader of the output has left. Nothing more may be written, not even at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except Interrupted as error:
        return _fail(str(error), error.code)
    except KeyboardInterrupt:
        return INTERRUPTED


def _fail(text: str, code: int) -> int:
    print(f"dovemq: {text}", file=sys.stderr)
    return code


def _explained(error: Refused, args: argparse.Namespace) -> str:
    """The text of a refusal, with the queue that was asked for and a remedy where one is known."""
    queues = " or ".join(filter(None, (getattr(args, name, None) for name in ("queue", "to"))))
    if queues and error.code.endswith(_QUEUE_MISSING):
        return f"queue {queues}: {error}\nlist the queues: dovemq queue list"
    if error.code in _KEY_ERRORS:
        return f'{error}\ncheck the access key: eval "$(dovemq env)", or give --data DIR'
    return str(error)
