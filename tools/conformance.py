"""The page that compares DoveMQ with SQS, generated from the wire tests and the service model."""

from collections.abc import Mapping
from typing import Any, Final

import botocore.session

from dovemq.sqs.faults import NEVER_GIVEN
from tests.wire.case import Case, Refused
from tests.wire.cases_success import SUCCESS_CASES
from tests.wire.speaking import PROTOCOLS
from tests.wire.test_refusals import CASES
from tools.markdown import code, page, section, table

SOURCES: Final[Mapping[str, str]] = {
    "R": "a response of AWS",
    "M": "service model",
    "D": "AWS's documentation",
    "?": "unverified",
}
DIFFERENCES: Final = """
- Encryption attributes are checked, stored and returned, but nothing is encrypted.
- Queue policies decide as in SQS, with accounts as the only principals: see
  [queue policies](policies.md). An unknown element is refused with a reason.
- The counts are exact, although their names say *approximate*.
- Requests are throttled only by the quotas of their account.
- A request that sends no messages has at most 256 KiB, and a list of names at most 100 items.
- The waiting times of 60 seconds (to reuse the name of a deleted queue, to purge again) apply only
  with `--strict-aws`.
- A receive of a standard queue follows `OrderHint`; AWS promises no order.
- With an older receipt, ChangeMessageVisibility accepts only a timeout of 0, which changes nothing.
  On a FIFO queue it refuses the receipt of every ended lease.
- On a standard queue, a message whose lease has ended comes after messages that were sent before
  the end of the lease; AWS was seen to deliver it first.
- A response about a queue that does not exist names the queue in its detail: `<Detail>` in Query,
  `detail` in JSON.
- A new `DeduplicationScope` takes effect at once; at AWS it takes up to a minute.
- A server has one region: a signature for another region is refused.
- DoveMQ has further attributes: see [queue attributes](attributes.md).
"""


def conformance_page() -> str:
    model = botocore.session.Session().get_service_model("sqs")
    names = sorted(model.operation_names)
    return page(
        "Conformance",
        "All operations of SQS's service model, each tested in both protocols. The tables list the "
        "errors that `tests/wire` compares word for word, and the origin of their texts. The "
        "numbers count the rows of its tables; there are more tests besides.",
        table(
            ("operation", "answers tested", "refusals tested", "in the model, never returned"),
            (_summary(name, model.operation_model(name)) for name in names),
        ),
        section("Differences", DIFFERENCES),
        *(section(name, _refusals(name)) for name in names),
    )


def cases_of(operation: str) -> list[tuple[Case, Refused]]:
    return [
        (case, case.expected)
        for case in CASES
        if case.operation == operation and isinstance(case.expected, Refused)
    ]


def _summary(name: str, model: Any) -> tuple[str, ...]:
    never = [shape.name for shape in model.error_shapes if shape.name in NEVER_GIVEN]
    return (
        f"[{name}](#{name.lower()})",
        str(sum(case.operation == name for case in SUCCESS_CASES)),
        str(len(cases_of(name))),
        ", ".join(_grouped(never)),
    )


def _grouped(names: list[str]) -> list[str]:
    others = sorted(name for name in names if not name.startswith("Kms"))
    return [*others, "Kms…"] if len(others) < len(names) else others


def _refusals(name: str) -> str:
    rows = (
        (code(refused.code), refused.text, _protocols(case), SOURCES[case.source])
        for case, refused in cases_of(name)
    )
    return table(("code", "text", "protocols", "wording"), rows)


def _protocols(case: Case) -> str:
    return "both" if case.protocols == PROTOCOLS else ", ".join(case.protocols)
