"""The page that compares DoveMQ with SQS, made of the wire tests and of AWS's service model."""

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
    "R": "given by AWS",
    "M": "service model",
    "D": "AWS's documentation",
    "?": "unverified",
}
DIFFERENCES: Final = """
- Encryption attributes are checked, kept and shown; nothing is encrypted.
- Queue policies decide as in SQS, with accounts as the only principals: see
  [queue policies](policies.md). What is not understood is refused with its reason.
- The counts are exact, though their names say *approximate*.
- Requests are not throttled.
- AWS's bans of 60 seconds (a queue of a deleted name, a second purge) hold under `--strict-aws`.
- A receive of a standard queue follows `OrderHint`; AWS gives no order at all.
- A lease that has ended cannot be extended (`MessageNotInflight`), and only the newest receipt of
  a message changes its visibility; AWS was seen to take both.
- A standard message whose lease ended stands behind those sent meanwhile; AWS was seen to hand it
  out first.
- A new `DeduplicationScope` holds at once; AWS takes up to a minute.
- There is one region: a signature scoped to another is refused.
- Attributes of DoveMQ's own: see [queue attributes](attributes.md).
"""


def conformance_page() -> str:
    model = botocore.session.Session().get_service_model("sqs")
    names = sorted(model.operation_names)
    return page(
        "Conformance",
        "All operations of SQS's service model, each tested in both protocols. Below stand the "
        "refusals that `tests/wire` compares word for word, with where the wording is from. The "
        "numbers count rows of its tables; more is tested beside them.",
        table(
            ("operation", "answers tested", "refusals tested", "modelled, never given"),
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
