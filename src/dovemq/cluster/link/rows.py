"""Messages as rows of the link: the values of `core/`, written without the names of their fields.

A row has the fields of its value, in the same order; a test compares them. New fields go to the
end and have a default, so that front ends of different releases can serve together while a cluster
is upgraded: a longer row is cut, and a shorter one gets the defaults.
"""

from collections.abc import Mapping

from msgspec import Struct, ValidationError
from msgspec.structs import astuple

from dovemq.core.commands import Draft, Lease, Peeked, Receipt, Transfer, Visibility
from dovemq.core.message import Attribute, Message


class AttributeRow(Struct, array_like=True, frozen=True):
    """A message attribute, whose value is either text or data."""

    type: str
    text: str | None
    data: bytes | None


AttributeRows = dict[str, AttributeRow]


class DraftRow(Struct, array_like=True, frozen=True):
    message_id: str
    body: str
    sender: str
    delay_ms: int = 0
    attributes: AttributeRows = {}
    group: str | None = None
    deduplication_id: str | None = None
    xray_header: str | None = None


class MessageRow(Struct, array_like=True, frozen=True):
    message_id: str
    sequence: int
    body: str
    sent_ms: int
    sender: str
    attributes: AttributeRows = {}
    group: str | None = None
    deduplication_id: str | None = None
    xray_header: str | None = None
    source: str | None = None


class LeaseRow(Struct, array_like=True, frozen=True):
    message: MessageRow
    receipt: Receipt
    receive_count: int
    first_received_ms: int


class TransferRow(Struct, array_like=True, frozen=True):
    message: MessageRow
    receive_count: int = 0
    first_received_ms: int = 0


class PeekedRow(Struct, array_like=True, frozen=True):
    message: MessageRow
    visibility: Visibility
    visible_ms: int
    receive_count: int
    first_received_ms: int
    partition: int = 0


def row_of_draft(draft: Draft) -> DraftRow:
    if draft.attributes:
        return DraftRow(
            draft.message_id,
            draft.body,
            draft.sender,
            draft.delay_ms,
            _attribute_rows(draft.attributes),
            draft.group,
            draft.deduplication_id,
            draft.xray_header,
        )
    return DraftRow(*astuple(draft))


def draft_of(row: DraftRow) -> Draft:
    if row.attributes:
        return Draft(
            row.message_id,
            row.body,
            row.sender,
            row.delay_ms,
            _attributes(row.attributes),
            row.group,
            row.deduplication_id,
            row.xray_header,
        )
    return Draft(*astuple(row))


def row_of_lease(lease: Lease) -> LeaseRow:
    return LeaseRow(
        _row(lease.message), lease.receipt, lease.receive_count, lease.first_received_ms
    )


def lease_of(row: LeaseRow) -> Lease:
    return Lease(_message(row.message), row.receipt, row.receive_count, row.first_received_ms)


def row_of_transfer(transfer: Transfer) -> TransferRow:
    return TransferRow(_row(transfer.message), transfer.receive_count, transfer.first_received_ms)


def transfer_of(row: TransferRow) -> Transfer:
    return Transfer(_message(row.message), row.receive_count, row.first_received_ms)


def row_of_peeked(peeked: Peeked) -> PeekedRow:
    message, *rest = astuple(peeked)
    return PeekedRow(_row(message), *rest)


def peeked_of(row: PeekedRow) -> Peeked:
    message, *rest = astuple(row)
    return Peeked(_message(message), *rest)


def _row(message: Message) -> MessageRow:
    if message.attributes:
        fields = list(astuple(message))
        fields[_ATTRIBUTES] = _attribute_rows(message.attributes)
        return MessageRow(*fields)
    return MessageRow(*astuple(message))


def _message(row: MessageRow) -> Message:
    if row.attributes:
        fields = list(astuple(row))
        fields[_ATTRIBUTES] = _attributes(row.attributes)
        return Message(*fields)
    return Message(*astuple(row))


_ATTRIBUTES = MessageRow.__struct_fields__.index("attributes")


def _attribute_rows(attributes: Mapping[str, Attribute]) -> AttributeRows:
    return {
        name: AttributeRow(each.type, each.value, None)
        if isinstance(each.value, str)
        else AttributeRow(each.type, None, each.value)
        for name, each in attributes.items()
    }


def _attributes(rows: AttributeRows) -> dict[str, Attribute]:
    return {name: Attribute(row.type, _value(row)) for name, row in rows.items()}


def _value(row: AttributeRow) -> str | bytes:
    value = row.data if row.text is None else row.text
    if value is None:
        raise ValidationError("an attribute without a value")
    return value
