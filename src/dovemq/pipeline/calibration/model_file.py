"""A calibration as a file for `dovemq model` and `dovemq plan`: numbers first, intervals beside.

A topic is a queue. Its service is per message, with the work of repeated deliveries in it: what
fails is done again by the same consumers, and the planner knows no failures. A job type that is
seen at several queues makes one job at each.
"""

import json
from collections.abc import Iterator, Mapping

from dovemq.models.calibration import Fit, Parameter, known
from dovemq.models.simulation.distributions import Erlang, HyperExponential
from dovemq.pipeline.calibration.parameters import Calibration, QueueParameters, Stream


class MessageService:
    """Of one message, over all its deliveries."""

    def __init__(self, queue: QueueParameters) -> None:
        counts = queue.deliveries or (1,)
        total = sum(counts)
        mean = sum((at + 1) * count for at, count in enumerate(counts)) / total
        square = sum((at + 1) ** 2 * count for at, count in enumerate(counts)) / total
        self.rate = known(queue.service_rate, "service_rate").value / mean
        # Of a sum of so many services as there are deliveries.
        scv = known(queue.service_scv, "service_scv").value
        self.scv = scv / mean + (square - mean**2) / mean**2


def model_text(calibration: Calibration) -> str:
    queues = [each for each in calibration.queues if _is_known(each)]
    lines = ['unit = "second"', ""]
    for queue in queues:
        lines += _topic(queue)
    for queue in queues:
        for job, stream in _jobs(queue).items():
            lines += _job(queue.queue, job, stream)
    lines += ["[calibrated]", f"confidence = {calibration.confidence}", ""]
    for queue in queues:
        lines += _intervals(queue)
    return "\n".join(lines)


def left_out(calibration: Calibration) -> list[str]:
    """Queues of which too little was observed for a topic."""
    return [each.queue for each in calibration.queues if not _is_known(each)]


def _is_known(queue: QueueParameters) -> bool:
    return bool(queue.service_rate and queue.service_scv and _jobs(queue))


def _jobs(queue: QueueParameters) -> Mapping[str, Stream]:
    """By the names of jobs; types of which too few were sent are left out."""
    named = {job: each for job, each in queue.jobs.items() if each.rate and each.scv}
    return {f"{queue.queue} {job}" if job else queue.queue: each for job, each in named.items()}


def _topic(queue: QueueParameters) -> Iterator[str]:
    service = MessageService(queue)
    yield f"[topics.{_quoted(queue.queue)}]"
    yield f"service_rate = {service.rate!r}"
    yield f"service_scv = {service.scv!r}"
    yield f"consumers = {max(1, queue.consumers)}"
    yield ""


def _job(queue: str, job: str, stream: Stream) -> Iterator[str]:
    rate, scv = known(stream.rate, "arrival_rate"), known(stream.scv, "arrival_scv")
    yield f"[jobs.{_quoted(job)}]"
    yield f"arrival_rate = {rate.value!r}"
    yield f"arrival_scv = {scv.value!r}"
    yield f"path = [{_quoted(queue)}]"
    yield ""


def _intervals(queue: QueueParameters) -> Iterator[str]:
    yield f"[calibrated.topics.{_quoted(queue.queue)}]"
    yield from _parameters(
        {
            "service_rate": queue.service_rate,
            "service_scv": queue.service_scv,
            "work_seconds": queue.work,
            "failure_probability": queue.failure_probability,
            "retries": queue.retries,
        }
    )
    yield from _distribution(queue.service_fits)
    yield ""
    for job, stream in _jobs(queue).items():
        yield f"[calibrated.jobs.{_quoted(job)}]"
        yield from _parameters({"arrival_rate": stream.rate, "arrival_scv": stream.scv})
        yield from _distribution(stream.fits)
        yield ""


def _parameters(named: Mapping[str, Parameter | None]) -> Iterator[str]:
    for name, each in named.items():
        if each is not None:
            yield (
                f"{name} = {{ value = {each.value!r}, low = {each.low!r}, high = {each.high!r}, "
                f"samples = {each.samples} }}"
            )


def _distribution(found: tuple[Fit, ...]) -> Iterator[str]:
    if found:
        yield f"distribution = {_quoted(fit_text(found[0]))}"


def fit_text(fit: Fit) -> str:
    """As one would write it; times in seconds."""
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
