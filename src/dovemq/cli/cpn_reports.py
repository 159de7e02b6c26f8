"""Reports of `dovemq cpn` about runs and state spaces."""

import math
from typing import TYPE_CHECKING, Any, Final

from dovemq.cli.output import fields, print_pairs, print_table

if TYPE_CHECKING:
    from dovemq.models.petri import CheckedNet, NetReport, StateSpace

LISTED_MAX: Final = 20


def report_document(report: "NetReport") -> dict[str, Any]:
    return {
        **fields(report, "net", "confidence"),
        "firings": report.steps,
        "runs": [
            {**fields(run.ending, "reason", "steps"), "time": run.ending.now} for run in report.runs
        ],
        "figures": [
            {
                **fields(figure, "monitor", "kind"),
                "replications": interval.samples,
                **fields(interval, "mean", "half_width", "least", "most"),
            }
            for figure, interval in report.summaries
        ],
    }


def print_report(report: "NetReport") -> None:
    ends = [run.ending for run in report.runs]
    reasons = ", ".join(sorted({end.reason for end in ends}))
    print_pairs(
        (
            ("net", report.net),
            ("runs", f"{len(ends)}, {report.steps} firings, ended by {reasons}"),
            ("model time", ", ".join(sorted({f"{end.now:.6g}" for end in ends})[:3])),
        )
    )
    share = f"± ({report.confidence:.0%})"
    rows = [
        (figure.monitor, _text(interval.mean), _text(interval.half_width))
        for figure, interval in report.summaries
    ]
    print()
    print_table(("monitor", "mean", share), rows)


def _text(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.6g}"


def space_facts(space: "StateSpace") -> dict[str, Any]:
    found: dict[str, Any] = {
        "net": space.net.name,
        "markings": space.markings,
        "firings": space.edges,
        "complete": space.complete,
    }
    if not space.complete:
        return {**found, "stopped": space.stopped}
    dead = space.dead_markings()
    bounds = space.bounds()
    return {
        **found,
        "components": len(set(space.components())),
        "dead_markings": len(dead),
        "first_dead_marking": _marking_text(space, dead[0]) if dead else None,
        "home_markings": len(space.home_markings()),
        "dead_transitions": space.dead_transitions(),
        "live_transitions": space.live_transitions(),
        "bounds": {name: f"{least}..{most}" for name, (least, most) in bounds.items()},
    }


def _marking_text(space: "StateSpace", at: int) -> dict[str, str]:
    return {name: str(held) for name, held in space.marking(at).items() if held.size}


def invariants(net: "CheckedNet") -> dict[str, Any]:
    from dovemq.models.petri import checked, place_basis, transition_basis, unfolded

    plain = net if net.is_pt else checked(unfolded(net))
    return {
        "place_invariants": [str(each) for each in place_basis(plain)],
        "transition_invariants": [str(each) for each in transition_basis(plain)],
    }


def listed(value: object) -> object:
    if isinstance(value, dict):
        value = [f"{name} {text}" for name, text in value.items()]
    if not isinstance(value, list):
        return "none" if value is None else value
    more = f" and {len(value) - LISTED_MAX} more" if len(value) > LISTED_MAX else ""
    return (", ".join(value[:LISTED_MAX]) or "none") + more
