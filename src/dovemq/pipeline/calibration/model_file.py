"""Writes a calibration as a model file for `dovemq model` and `dovemq plan`.

A topic is a queue. Its service is per message and includes repeated deliveries: the same consumers
repeat the work that failed, and the planner has no failures. A job type that occurs at several
queues makes one job at each.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Final

from dovemq.models.calibration import DistributionFit, known
from dovemq.models.distributions import Erlang, HyperExponential
from dovemq.models.estimates import Parameter
from dovemq.pipeline.calibration.parameters import Calibration, QueueParameters, Stream

MISMATCH_RATIO_MAX: Final = 1.5
"""A model whose mean time differs by more than this factor from the measured one is reported."""
_BATCH_MIN: Final = 1.5
_FAILURES_MIN: Final = 0.01
_UTILISATION_MIN: Final = 0.9


class MessageService:
    """The service of one message, over all its deliveries."""

    def __init__(self, queue: QueueParameters) -> None:
        counts = queue.deliveries or (1,)
        total = sum(counts)
        mean = sum((at + 1) * count for at, count in enumerate(counts)) / total
        square = sum((at + 1) ** 2 * count for at, count in enumerate(counts)) / total
        self.rate = known(queue.service_rate, "service_rate").value / mean
        # The scv of a sum of as many services as there are deliveries.
        scv = known(queue.service_scv, "service_scv").value
        self.scv = scv / mean + (square - mean**2) / mean**2


def model_text(calibration: Calibration) -> str:
    queues = [each for each in calibration.queues if _is_known(each)]
    lines = ['unit = "second"', ""]
    for queue in queues:
        service = MessageService(queue)
        lines += _table(
            f"topics.{_quoted(queue.queue)}",
            service_rate=service.rate,
            service_scv=service.scv,
            consumers=max(1, queue.consumers),
        )
    for queue in queues:
        for job, stream in _jobs(queue).items():
            lines += _table(
                f"jobs.{_quoted(job)}",
                arrival_rate=known(stream.rate, "arrival_rate").value,
                arrival_scv=known(stream.scv, "arrival_scv").value,
                path=[queue.queue],
            )
    lines += _table("calibrated", confidence=calibration.confidence)
    for queue in queues:
        lines += _table(
            f"calibrated.topics.{_quoted(queue.queue)}",
            service_rate=queue.service_rate,
            service_scv=queue.service_scv,
            work_seconds=queue.work,
            failure_probability=queue.failure_probability,
            retries=queue.retries,
            distribution=_best(queue.service_fits),
        )
        for job, stream in _jobs(queue).items():
            lines += _table(
                f"calibrated.jobs.{_quoted(job)}",
                arrival_rate=stream.rate,
                arrival_scv=stream.scv,
                distribution=_best(stream.fits),
            )
    return "\n".join(lines)


def _table(name: str, **values: object) -> Iterator[str]:
    """Yields a table of TOML without the values that are not known."""
    yield f"[{name}]"
    for key, value in values.items():
        if isinstance(value, Parameter):
            yield (
                f"{key} = {{ value = {value.value!r}, low = {value.low!r}, "
                f"high = {value.high!r}, samples = {value.samples} }}"
            )
        elif value is not None:
            is_number = isinstance(value, int | float)
            yield f"{key} = {value!r}" if is_number else f"{key} = {json.dumps(value)}"
    yield ""


def _best(found: tuple[DistributionFit, ...]) -> str | None:
    return fit_text(found[0]) if found else None


def left_out(calibration: Calibration) -> list[str]:
    """Returns the queues for which too little was observed to make a topic."""
    return [each.queue for each in calibration.queues if not _is_known(each)]


def mismatch(queue: QueueParameters, predicted: float | None) -> str | None:
    """Explains why the model's mean time in the queue is far from the measured one.

    Returns None if it is near, or if one of them is not known.
    """
    if not _is_known(queue) or not queue.sojourn:
        return None
    if predicted is None:
        return f"the model is unstable: {_load(queue)}"
    ratio = max(predicted / queue.sojourn, queue.sojourn / max(predicted, 1e-12))
    if ratio <= MISMATCH_RATIO_MAX:
        return None
    relation = "longer" if predicted > queue.sojourn else "shorter"
    return (
        f"the model's mean time is {ratio:.1f} times {relation} than the measured one; likely "
        f"cause: {_likely_cause(queue)}"
    )


def _likely_cause(queue: QueueParameters) -> str:
    if queue.messages_per_lease is not None and queue.messages_per_lease >= _BATCH_MIN:
        return (
            f"consumers receive {queue.messages_per_lease:.1f} messages at a time, and the model "
            "serves them one by one"
        )
    if queue.failure_probability and queue.failure_probability.value >= _FAILURES_MIN:
        return (
            f"{queue.failure_probability.value:.1%} of the deliveries fail, and the model has no "
            "wait for the end of their leases"
        )
    if _utilisation(queue) >= _UTILISATION_MIN:
        return f"{_load(queue)}; near saturation a mean needs a longer trace"
    return (
        "arrivals come in bursts, consumers pause between receives, or their number changes; the "
        "model takes all of these as constant and independent"
    )


def _load(queue: QueueParameters) -> str:
    return f"the arrivals take {_utilisation(queue):.0%} of what {queue.consumers} consumers serve"


def _utilisation(queue: QueueParameters) -> float:
    rate = sum(known(each.rate, "arrival_rate").value for each in _jobs(queue).values())
    return rate / (MessageService(queue).rate * max(1, queue.consumers))


def _is_known(queue: QueueParameters) -> bool:
    return bool(queue.service_rate and queue.service_scv and _jobs(queue))


def _jobs(queue: QueueParameters) -> Mapping[str, Stream]:
    """Returns the streams by the name of their job, without those with too few messages."""
    named = {job: each for job, each in queue.jobs.items() if each.rate and each.scv}
    return {f"{queue.queue} {job}" if job else queue.queue: each for job, each in named.items()}


def fit_text(fit: DistributionFit) -> str:
    """Describes a fitted distribution; times are in seconds."""
    match fit.distribution:
        case HyperExponential(shares=shares, means=means):
            pairs = zip(shares, means, strict=True)
            inside = ", ".join(f"{share:.4g} of mean {mean:.6g}" for share, mean in pairs)
        case Erlang(mean=mean, stages=stages):
            inside = f"mean {mean:.6g}, {stages} stages"
        case other:
            inside = f"mean {other.mean:.6g}, scv {other.scv:.4g}"
    return f"{fit.name} ({inside})"


def _quoted(text: str) -> str:
    return json.dumps(text)
