"""Routes for move tasks, which move the messages of a dead-letter queue elsewhere."""

from http import HTTPStatus
from typing import Annotated

from msgspec import Meta, Struct

from dovemq.core import limits
from dovemq.core.accounts import Role
from dovemq.core.commands import Move
from dovemq.server.admin_context import AdminCall, AdminContext, AdminRefusal, AdminRoute
from dovemq.server.admin_messages import own_target
from dovemq.server.admin_views import Document

_MOVES = "/v1/queues/{account}/{name}/moves"
_RATE = limits.MOVE_RATE_PER_SECOND


class NewMove(Struct, frozen=True, forbid_unknown_fields=True):
    """The target as ACCOUNT/NAME; null for the queues that the messages came from."""

    target: str | None = None
    rate_per_second: Annotated[int, Meta(ge=_RATE.least, le=_RATE.most)] | None = None


@AdminRoute("GET", _MOVES, Role.VIEWER, own=True)
async def list_moves(admin: AdminContext, call: AdminCall) -> Document:
    """Move tasks of a queue, the newest first, with the progress of the running one."""
    queue = await admin.service.queues.find(call.queue)
    moves = await admin.service.moves.listing(queue.key, limits.MOVES_LISTED.most)
    return {"moves": [_move_document(each) for each in moves]}


@AdminRoute("POST", _MOVES, Role.OPERATOR, body=NewMove, audited=True, own=True)
async def start_move(admin: AdminContext, call: AdminCall) -> Document:
    """Starts to move all messages of a dead-letter queue, at most at the given rate."""
    wanted: NewMove = call.body
    queue = await admin.service.queues.find(call.queue)
    target = own_target(wanted.target, queue.key)
    return _move_document(
        await admin.service.moves.start(queue.key, target, wanted.rate_per_second)
    )


@AdminRoute("DELETE", _MOVES + "/{move_id}", Role.OPERATOR, audited=True, own=True)
async def cancel_move(admin: AdminContext, call: AdminCall) -> Document:
    """Cancels a running move task; messages that it has moved stay where they are."""
    queue = await admin.service.queues.find(call.queue)
    moves = await admin.service.moves.listing(queue.key, limits.MOVES_LISTED.most)
    move_id = call.path["move_id"]
    if all(move.move_id != move_id for move in moves):
        text = "This queue has no such move task."
        raise AdminRefusal("MoveMissing", text, HTTPStatus.NOT_FOUND)
    await admin.service.moves.cancel(move_id)
    moves = await admin.service.moves.listing(queue.key, limits.MOVES_LISTED.most)
    return _move_document(next(move for move in moves if move.move_id == move_id))


def _move_document(move: Move) -> Document:
    return {
        "move_id": move.move_id,
        "source": move.source,
        "target": move.target,
        "rate_per_second": move.rate_per_second,
        "started_ms": move.started_ms,
        "to_move": move.to_move,
        "moved": move.moved,
        "status": move.status.value,
        "failure": move.failure,
    }
