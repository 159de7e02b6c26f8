"""Errors and messages come out of the link as they went in."""

from typing import Any

import msgspec
import pytest

from dovemq.cluster.link.bounds import FAILURE_TEXT_MAX
from dovemq.cluster.link.failures import KINDS, Failure, error_of, failure_of
from dovemq.cluster.link.rows import (
    AttributeRow,
    DraftRow,
    LeaseRow,
    MessageRow,
    PeekedRow,
    TransferRow,
    draft_of,
    lease_of,
    peeked_of,
    row_of_draft,
    row_of_lease,
    row_of_peeked,
    row_of_transfer,
    transfer_of,
)
from dovemq.cluster.link.session import ANSWERS
from dovemq.cluster.link.verbs import Verb
from dovemq.cluster.ports import NotOwner
from dovemq.core import errors
from dovemq.core.commands import Draft, Lease, Peeked, Receipt, Transfer, Visibility
from dovemq.core.message import Attribute, Message

ATTRIBUTES = {"trace": Attribute("String", "päth"), "blob": Attribute("Binary.png", b"\xff\x00")}
MESSAGE = Message(
    "id-1", 7, "body\n☃", 1_000, "000000000000", ATTRIBUTES, "g", "once", "Root=1", "0/dead"
)
RECEIPT = Receipt(3, 0, 7, 2, 1_500)
EXAMPLES: list[errors.DoveError] = [
    errors.QueueMissing("0/jobs"),
    errors.StoreFull(),
    errors.StoreFailed("disk I/O error"),
    errors.LimitReached("120,000 messages are in flight"),
    errors.InvalidValue("wait", 99, "{field} is too long"),
    errors.QuotaReached("1", "bytes", 10, 9, 2),
    errors.OwnerChanged(3, 0),
    errors.Busy("Too many polls"),
    errors.Draining(),
    NotOwner(3, 0),
]


def crossed(value: Any, kind: type) -> Any:
    return msgspec.msgpack.decode(msgspec.msgpack.encode(value), type=kind)


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_error_comes_out_with_its_class_text_and_fields(error: errors.DoveError) -> None:
    arrived = error_of(crossed(failure_of(error), Failure))
    assert type(arrived) is type(error)
    assert str(arrived) == str(error)
    assert vars(arrived) == vars(error)


def test_every_error_of_the_tree_has_a_name_of_its_own_on_the_link() -> None:
    tree = {
        name: kind
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, errors.DoveError)
    }
    assert set(tree) <= set(KINDS)
    assert all(KINDS[name] is kind for name, kind in tree.items())


def test_error_of_another_module_arrives_as_its_nearest_ancestor() -> None:
    class DiskOnFireError(errors.UnavailableError):
        pass

    arrived = error_of(failure_of(DiskOnFireError("smoke")))
    assert type(arrived) is errors.UnavailableError
    assert str(arrived) == "smoke"


def test_error_that_the_caller_does_not_know_arrives_as_unavailable() -> None:
    arrived = error_of(Failure("ErrorOfTheNextRelease", "try later", {}))
    assert type(arrived) is errors.UnavailableError


def test_failure_outside_the_tree_arrives_without_its_text() -> None:
    arrived = error_of(failure_of(KeyError("a body")))
    assert type(arrived) is errors.InvariantError
    assert "a body" not in str(arrived)


def test_long_or_unencodable_text_of_an_error_arrives_shortened() -> None:
    error = errors.Busy("\ud800" + "x" * 10_000)
    arrived = error_of(crossed(failure_of(error), Failure))
    assert 0 < len(str(arrived)) <= FAILURE_TEXT_MAX


@pytest.mark.parametrize("attributes", [{}, ATTRIBUTES], ids=["bare", "with attributes"])
def test_messages_come_out_as_they_went_in(attributes: dict[str, Attribute]) -> None:
    message = msgspec.structs.replace(MESSAGE, attributes=attributes)
    draft = Draft("id-1", "body", "0", 5, attributes, "g", "once", "Root=1")
    lease = Lease(message, RECEIPT, 2, 1_200)
    transfer = Transfer(message, 2, 1_200)
    peeked = Peeked(message, Visibility.DELAYED, 2_000, 0, 0)
    assert draft_of(crossed(row_of_draft(draft), DraftRow)) == draft
    assert lease_of(crossed(row_of_lease(lease), LeaseRow)) == lease
    assert transfer_of(crossed(row_of_transfer(transfer), TransferRow)) == transfer
    assert peeked_of(crossed(row_of_peeked(peeked), PeekedRow)) == peeked


@pytest.mark.parametrize(
    ("row", "value"),
    [
        (DraftRow, Draft),
        (MessageRow, Message),
        (LeaseRow, Lease),
        (TransferRow, Transfer),
        (PeekedRow, Peeked),
    ],
)
def test_row_has_the_fields_of_its_value(
    row: type[msgspec.Struct], value: type[msgspec.Struct]
) -> None:
    assert row.__struct_fields__ == value.__struct_fields__
    assert len(row.__struct_defaults__) == len(value.__struct_defaults__)


def test_row_of_a_newer_release_is_cut_and_of_an_older_one_filled() -> None:
    newer = [*msgspec.to_builtins(row_of_draft(Draft("id", "body", "0"))), "a new field"]
    assert draft_of(crossed(newer, DraftRow)) == Draft("id", "body", "0")
    assert draft_of(crossed(["id", "body", "0"], DraftRow)) == Draft("id", "body", "0")


def test_attribute_without_a_value_is_refused() -> None:
    row = DraftRow("id", "body", "0", attributes={"a": AttributeRow("String", None, None)})
    with pytest.raises(msgspec.ValidationError):
        draft_of(row)


def test_every_verb_has_an_answer() -> None:
    assert set(ANSWERS) == set(Verb.__args__)
