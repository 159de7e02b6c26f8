"""`dovemq pipeline calibrate`: model parameters from traces, with intervals and drift."""

import argparse
import sys
import tomllib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from dovemq.cli.command import FAILED, OK, Commands, add_command
from dovemq.cli.modelling import finite, real, shown
from dovemq.cli.output import fields, print_records, print_result, print_table, working
from dovemq.cli.pipeline_options import add_engine, add_spark, pipeline_job, spark_plan
from dovemq.cli.values import output_file

if TYPE_CHECKING:
    from dovemq.models.calibration import DistributionFit, Drift
    from dovemq.models.estimates import Parameter
    from dovemq.pipeline.calibration.observed import Observed
    from dovemq.pipeline.calibration.parameters import Calibration, QueueParameters

_INTERVAL: Final = ("value", "low", "high", "samples")


def add(commands: Commands) -> None:
    summary = (
        "estimate model parameters from traces: rates, scv, failures, consumers; with intervals"
    )
    example = (
        "dovemq pipeline calibrate ./traces --out model.toml && dovemq model network model.toml"
    )
    parser = add_command(commands, "calibrate", _run, summary, example)
    text = "directories, files or URIs of a trace"
    parser.add_argument("traces", nargs="+", metavar="TRACES", help=text)
    parser.option("--out", "FILE", "model file for dovemq model and dovemq plan", output_file)
    text = "traces of a later period; reports which parameters have changed since"
    parser.option("--compare", "TRACES", text, nargs="+")
    parser.option("--confidence", "P", "confidence of the intervals", real, 0.95)
    add_engine(parser)
    add_spark(parser)


def _run(args: argparse.Namespace) -> int:
    with pipeline_job():
        from dovemq.models.calibration import drift_of
        from dovemq.pipeline.calibration.model_file import left_out, model_text
        from dovemq.pipeline.calibration.parameters import calibrated

        periods = [each for each in (args.traces, args.compare) if each]
        observed = _observed(args, periods)
        found = [calibrated(each, args.confidence) for each in observed]
        drifts = None
        if len(found) > 1:
            drifts = drift_of(found[0].named(), found[1].named(), args.confidence)
        missing = left_out(found[0])
        known = len(missing) < len(found[0].queues)
        predicted = _predicted(model_text(found[0])) if known else {}
    if known and args.out is not None:
        args.out.write_text(model_text(found[0]))
    report = (found[0], predicted, missing, drifts)
    print_result(args, _document(*report), lambda: _print(*report))
    if known and args.out is not None and not args.json:
        print(f"\nwrote {args.out}")
    if drifts is not None and not drifts:
        print(f"dovemq: {_nothing_common(found)}", file=sys.stderr)
        return FAILED
    return OK if known else FAILED


def _nothing_common(found: Sequence["Calibration"]) -> str:
    first, second = (", ".join(each.queue for each in part.queues) or "none" for part in found)
    return (
        "the two periods have no parameter in common, so there is no drift to report; queues of "
        f"the first: {first}; of --compare: {second}"
    )


def _observed(args: argparse.Namespace, periods: Sequence[list[str]]) -> list["Observed"]:
    from dovemq.pipeline.engines import observed

    done: list[Observed] = []
    text = f"of {len(periods)} periods read"
    plan = spark_plan(args)
    working(
        lambda: f"{len(done)} {text}", lambda: done.extend(observed(periods, args.engine, plan))
    )
    return done


def _predicted(text: str) -> dict[str, float | None]:
    """Returns the mean time of a message at each queue by the closed form."""
    from dovemq.models.analytic import network_measures
    from dovemq.models.planning import read_spec

    network = read_spec(tomllib.loads(text)).problem.network
    times = network_measures(network).topics.sojourn_time
    found = zip(network.topics, times, strict=True)
    return {topic.name: finite(float(time)) for topic, time in found}


def _document(
    found: "Calibration",
    predicted: dict[str, float | None],
    missing: list[str],
    drifts: Sequence["Drift"] | None,
) -> dict[str, Any]:
    document: dict[str, Any] = {
        "confidence": found.confidence,
        **fields(found.observed, "engine", "rows", "quarantined"),
        "refused": [fields(each, "file", "reason") for each in found.observed.refused],
        "queues": [_queue(each, predicted.get(each.queue)) for each in found.queues],
        "front_ends": [
            {
                **fields(each, "front_end", "seconds"),
                "request_rate": _as_dict(each.request_rate),
                "utilisation": _as_dict(each.utilisation),
                "service_time_s": _as_dict(each.service_time),
                "latency_s": {name: _as_dict(mean) for name, mean in each.latency.items()},
            }
            for each in found.front_ends
        ],
        "left_out": missing,
    }
    if drifts is not None:
        document["drift"] = [_drift(each) for each in drifts]
    return document


def _queue(queue: "QueueParameters", predicted: float | None) -> dict[str, Any]:
    from dovemq.pipeline.calibration.model_file import mismatch

    return {
        **fields(queue, "queue", "seconds"),
        **{name: _as_dict(each) for name, each in _named(queue)},
        "arrival_fits": _fits(queue.arrivals.fits),
        "service_fits": _fits(queue.service_fits),
        "jobs": {
            job: {
                "arrival_rate": _as_dict(each.rate),
                "arrival_scv": _as_dict(each.scv),
                "arrival_fits": _fits(each.fits),
            }
            for job, each in queue.jobs.items()
        },
        **fields(queue, "deliveries", "consumers", "clients", "messages_per_lease", "open"),
        "waiting_s": queue.waiting,
        "sojourn_s": queue.sojourn,
        "predicted_sojourn_s": predicted,
        "warning": mismatch(queue, predicted),
    }


def _named(queue: "QueueParameters") -> Iterator[tuple[str, "Parameter | None"]]:
    yield "arrival_rate", queue.arrivals.rate
    yield "arrival_scv", queue.arrivals.scv
    yield "service_rate", queue.service_rate
    yield "service_scv", queue.service_scv
    yield "work_s", queue.work
    yield "failure_probability", queue.failure_probability
    yield "retries", queue.retries


def _as_dict(parameter: "Parameter | None") -> dict[str, float] | None:
    return None if parameter is None else fields(parameter, *_INTERVAL)


def _fits(found: Sequence["DistributionFit"]) -> list[dict[str, Any]]:
    from dovemq.pipeline.calibration.model_file import fit_text

    names = ("name", "aic", "distance")
    return [{**fields(fit, *names), "distribution": fit_text(fit)} for fit in found]


def _drift(drift: "Drift") -> dict[str, Any]:
    return {
        "parameter": drift.name,
        "first": _as_dict(drift.first),
        "second": _as_dict(drift.second),
        **fields(drift, "ratio", "p_value", "drifted"),
    }


def _print(
    found: "Calibration",
    predicted: dict[str, float | None],
    missing: list[str],
    drifts: Sequence["Drift"] | None,
) -> None:
    observed = found.observed
    print(f"{observed.rows} rows, {observed.quarantined} in quarantine, by {observed.engine}")
    for file in observed.refused:
        print(f"not read: {file.file}: {file.reason}")
    for queue in found.queues:
        print()
        _print_queue(queue, predicted.get(queue.queue))
    for each in found.front_ends:
        rows = [
            ("requests/s", each.request_rate),
            ("utilisation", each.utilisation),
            ("service_time_s", each.service_time),
            *((f"latency of {event}, s", mean) for event, mean in each.latency.items()),
        ]
        print(f"\nfront end {each.front_end}, {each.seconds:.1f} s")
        _print_parameters(rows)
    for name in missing:
        print(f"\nnot in the file: {name}: too little was observed")
    if drifts is not None:
        _print_drifts(drifts)


def _print_queue(queue: "QueueParameters", predicted: float | None) -> None:
    from dovemq.pipeline.calibration.model_file import fit_text, mismatch

    print(f"queue {queue.queue}, {queue.seconds:.1f} s")
    rows = list(_named(queue))
    for job, each in queue.jobs.items():
        if job:
            rows += [(f"arrival_rate of {job}", each.rate), (f"arrival_scv of {job}", each.scv)]
    _print_parameters(rows)
    for name, found in (("arrivals", queue.arrivals.fits), ("service", queue.service_fits)):
        if found:
            print(f"{name}: {fit_text(found[0])}, {found[0].distance:.1%} off at most")
    batch = queue.messages_per_lease
    print(
        f"consumers: {queue.consumers} at a time, {queue.clients} in all"
        + (f", {batch:.2f} messages per lease" if batch is not None else "")
    )
    print(f"time in the queue, s: {shown(queue.sojourn)} measured, {shown(predicted)} by the model")
    if warning := mismatch(queue, predicted):
        print(f"warning: {warning}")


def _print_parameters(rows: Sequence[tuple[str, "Parameter | None"]]) -> None:
    known = [(name, each) for name, each in rows if each is not None]
    if known:
        print_table(
            ("parameter", *_INTERVAL),
            [(name, *(shown(getattr(each, part)) for part in _INTERVAL)) for name, each in known],
        )


def _print_drifts(drifts: Sequence["Drift"]) -> None:
    print("\ndrift, the surest first")
    print_records(
        drifts,
        {
            "parameter": lambda drift: drift.name,
            "first": lambda drift: shown(drift.first.value),
            "second": lambda drift: shown(drift.second.value),
            "ratio": lambda drift: f"{drift.ratio:.4g}",
            "p": lambda drift: f"{drift.p_value:.2g}",
            "drifted": lambda drift: "yes" if drift.drifted else "no",
        },
    )
