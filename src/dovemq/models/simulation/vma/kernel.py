"""The loop over the events of the tandem, compiled.

The next event is the soonest of a production, the end of a sending, the end of a service, and the
rest: what a link or a timeout delays, and the end of a slice. A number over time is kept as the
area that it would reach at the end of the slice if nothing more happened, so that a change costs
one addition. All times of a message are drawn when it is produced: it meets the same fate
whatever the number of threads and the order.
"""

import math
from typing import Any, Final

from dovemq.models.simulation.compiled import codes, inlined, kernel, part
from dovemq.models.simulation.estimates import Floats
from dovemq.models.simulation.histogram import bin_of
from dovemq.models.simulation.runs import ENDED, FULL, PAUSED
from dovemq.models.simulation.sampling import Rows, draw
from dovemq.models.simulation.streams import uniform
from dovemq.models.simulation.vma.state import (
    AGAIN,
    AGAIN_HEAD,
    ARRIVAL,
    BROKER,
    CHANCE,
    CLASS,
    DONE,
    INVISIBLE,
    LEASE_HEAD,
    NONE,
    SEND_HEAD,
    SENDER,
    SENDING,
    TIMER,
    TO_BROKER,
    TO_RECEIVER,
    VISIBLE,
    Held,
    Whole,
)

WAITING, SEEN, SENDER_BUSY, BROKER_BUSY, SENDER_ANY, BROKER_ANY, IN_SYSTEM = codes(0, 7)
ARRIVED, SEND_STARTED, SENT, LEASED, SERVED, LOST, EXPIRED, RECEIVED, REPEATED = codes(7, 16)
(UNDECIDED,) = codes(0, 1)
(ARRIVAL_ROW,) = codes(0, 1)
SUMS_FIRST: Final = 16
SUMS_WIDTH: Final = 5


@part
def _record(record: Rows, state: Any, now: float, message: Any, event: int) -> None:
    row = record[state.rows]
    row.time, row.event = now, event - ARRIVED
    row.message, row.kind = message.serial, message.kind
    state.rows += 1


@inlined
def _note(held: Held, state: Any, now: float, message: Any, event: int) -> None:
    held.tally[event] += 1.0
    if state.rows < state.rows_max:
        _record(held.record, state, now, message, event)


@inlined
def _change(tally: Floats, state: Any, now: float, number: int, step: float) -> None:
    tally[number] += step * (state.slice_end - now)


@inlined
def _hold(threads: Rows, busy: int, slot: int, end: float) -> None:
    """Sorts the end of a service in; `busy` threads are so without it."""
    place = busy
    while threads[place].end < end:
        threads[place + 1].end = threads[place].end
        threads[place + 1].slot = threads[place].slot
        place -= 1
    threads[place + 1].end = end
    threads[place + 1].slot = slot


@inlined
def _append(lists: Whole, head: int, level: int, slot: int) -> int:
    """The slot that was the last before, NONE if none was; the row after `head` is the tail."""
    last = NONE
    if lists[head, level] == NONE:
        lists[head, level] = slot
    else:
        last = lists[head + 1, level]
    lists[head + 1, level] = slot
    return last


@part
def _delay(held: Held, ring: int, due: float, slot: int, lost: int) -> None:
    state, room = held.state[0], held.rings.shape[1]
    delayed = held.rings[ring, (held.turns[ring, 0] + held.turns[ring, 1]) & (room - 1)]
    delayed.due, delayed.slot, delayed.lost = due, slot, lost
    delayed.serial = held.pool[slot].serial
    held.turns[ring, 1] += 1
    state.next_other = min(state.next_other, due)
    # One event may lease once for every thread that is idle.
    if held.turns[ring, 1] + state.broker_threads + 1 > room:
        state.full = 1


@inlined
def _start_sending(held: Held, state: Any, now: float, slot: int) -> float:
    message = held.pool[slot]
    end: float = now + message.sender_time
    _hold(held.sender, state.sender_busy, slot, end)
    state.sender_busy += 1
    _note(held, state, now, message, SEND_STARTED)
    return end


@inlined
def _wait_for_sender(held: Held, state: Any, now: float, slot: int) -> None:
    held.pool[slot].link = NONE
    last = _append(held.lists, SEND_HEAD, held.pool[slot].level, slot)
    if last != NONE:
        held.pool[last].link = slot
    state.sender_waiting += 1
    _change(held.tally, state, now, WAITING, 1.0)


@inlined
def _put_in_turn(held: Held, slot: int) -> None:
    held.pool[slot].after = NONE
    last = _append(held.lists, LEASE_HEAD, held.pool[slot].level, slot)
    if last != NONE:
        held.pool[last].after = slot


@inlined
def _produce(held: Held, state: Any, now: float) -> float:
    slot = state.free
    message = held.pool[slot]
    state.free = message.link
    kind = 0
    if held.kinds.size > 1:
        chance = uniform(held.words[CLASS])
        while chance >= held.kinds[kind].share:
            kind += 1
    row = held.kinds[kind]
    message.arrived = now
    message.sender_time = draw(held.words[SENDER], held.shapes, held.values, row.sender)
    message.broker_time = draw(held.words[BROKER], held.shapes, held.values, row.broker)
    message.chance = uniform(held.words[CHANCE])
    message.serial = state.serial
    message.copies = message.leases = message.listed = 0
    message.kind, message.level, message.stage = kind, row.level, SENDING
    state.serial += 1
    state.next_arrival = now + draw(held.words[ARRIVAL], held.shapes, held.values, ARRIVAL_ROW)
    state.in_system += 1
    _change(held.tally, state, now, IN_SYSTEM, 1.0)
    _note(held, state, now, message, ARRIVED)
    if state.in_order:
        _put_in_turn(held, slot)
    if state.sender_busy < state.sender_threads:
        if state.sender_busy == 0:
            _change(held.tally, state, now, SENDER_ANY, 1.0)
        _change(held.tally, state, now, SENDER_BUSY, 1.0)
        return _start_sending(held, state, now, slot)
    _wait_for_sender(held, state, now, slot)
    return math.inf


@inlined
def _arrive_at_broker(held: Held, state: Any, now: float, slot: int) -> None:
    message = held.pool[slot]
    message.sent = now
    message.stage = VISIBLE
    state.visible += 1
    _change(held.tally, state, now, SEEN, 1.0)
    if not state.in_order:
        _put_in_turn(held, slot)


@inlined
def _end_sending(held: Held, state: Any, now: float) -> float:
    slot = held.sender[state.sender_busy].slot
    state.sender_busy -= 1
    soonest: float = held.sender[state.sender_busy].end
    _note(held, state, now, held.pool[slot], SENT)
    if state.sender_waiting > 0:
        level = 0
        while held.lists[SEND_HEAD, level] == NONE:
            level += 1
        waiting = held.lists[SEND_HEAD, level]
        held.lists[SEND_HEAD, level] = held.pool[waiting].link
        state.sender_waiting -= 1
        _change(held.tally, state, now, WAITING, -1.0)
        soonest = min(soonest, _start_sending(held, state, now, waiting))
    else:
        _change(held.tally, state, now, SENDER_BUSY, -1.0)
        if state.sender_busy == 0:
            _change(held.tally, state, now, SENDER_ANY, -1.0)
    if state.link_delay > 0.0:
        _delay(held, TO_BROKER, now + state.link_delay, slot, UNDECIDED)
    else:
        _arrive_at_broker(held, state, now, slot)
    return soonest


@inlined
def _release(held: Held, state: Any, slot: int) -> None:
    """Gives the slot back once nothing refers to the message."""
    message = held.pool[slot]
    if message.copies == 0 and message.listed == 0:
        message.link = state.free
        state.free = slot


@inlined
def _startable(held: Held, state: Any) -> int:
    """Takes the message that the broker may start from its list; NONE if there is none."""
    for level in range(held.lists.shape[1]):
        while held.lists[AGAIN_HEAD, level] != NONE:
            slot: int = held.lists[AGAIN_HEAD, level]
            message = held.pool[slot]
            held.lists[AGAIN_HEAD, level] = message.link
            message.listed = 0
            if message.stage == VISIBLE:
                return slot
            _release(held, state, slot)
        first: int = held.lists[LEASE_HEAD, level]
        if first != NONE and held.pool[first].stage == VISIBLE:
            held.lists[LEASE_HEAD, level] = held.pool[first].after
            return first
    return NONE


@inlined
def _lease(held: Held, state: Any, now: float, slot: int) -> float:
    message = held.pool[slot]
    if message.leases == 0:
        message.leased = now
        service = message.broker_time
    else:
        row = held.kinds[message.kind].broker
        service = draw(held.words[AGAIN], held.shapes, held.values, row)
    message.leases += 1
    message.copies += 1
    message.stage = INVISIBLE
    state.visible -= 1
    _change(held.tally, state, now, SEEN, -1.0)
    end: float = now + service
    _hold(held.broker, state.broker_busy, slot, end)
    if state.broker_busy == 0:
        _change(held.tally, state, now, BROKER_ANY, 1.0)
    state.broker_busy += 1
    _change(held.tally, state, now, BROKER_BUSY, 1.0)
    _note(held, state, now, message, LEASED)
    if state.timed:
        _delay(held, TIMER, now + state.visibility_timeout, slot, UNDECIDED)
    return end


@inlined
def _receive(held: Held, state: Any, now: float, message: Any) -> None:
    if message.stage == VISIBLE:
        # It had expired early and waits to be leased again: it is deleted where it waits.
        state.visible -= 1
        _change(held.tally, state, now, SEEN, -1.0)
    message.stage = DONE
    state.in_system -= 1
    _change(held.tally, state, now, IN_SYSTEM, -1.0)
    _note(held, state, now, message, RECEIVED)
    sojourn = now - message.arrived
    first = SUMS_FIRST + SUMS_WIDTH * message.kind
    held.tally[first] += 1.0
    held.tally[first + 1] += sojourn
    held.tally[first + 2] += sojourn * sojourn
    held.tally[first + 3] += message.sent - message.arrived
    held.tally[first + 4] += message.leased - message.sent
    if state.slice > 0:
        held.histogram[message.kind, bin_of(sojourn * state.per_scale)] += 1


@inlined
def _become_visible_again(held: Held, state: Any, now: float, slot: int) -> None:
    message = held.pool[slot]
    message.stage = VISIBLE
    message.listed = 1
    message.link = held.lists[AGAIN_HEAD, message.level]
    held.lists[AGAIN_HEAD, message.level] = slot
    state.visible += 1
    _change(held.tally, state, now, SEEN, 1.0)


@inlined
def _reach_receiver(held: Held, state: Any, now: float, slot: int, lost: int) -> None:
    message = held.pool[slot]
    message.copies -= 1
    if lost:
        _note(held, state, now, message, LOST)
        if not state.timed:
            _become_visible_again(held, state, now, slot)
    elif message.stage == DONE:
        _note(held, state, now, message, REPEATED)
    else:
        _receive(held, state, now, message)
    if message.stage == DONE:
        _release(held, state, slot)


@inlined
def _end_service(held: Held, state: Any, now: float) -> None:
    slot = held.broker[state.broker_busy].slot
    message = held.pool[slot]
    state.broker_busy -= 1
    _change(held.tally, state, now, BROKER_BUSY, -1.0)
    if state.broker_busy == 0:
        _change(held.tally, state, now, BROKER_ANY, -1.0)
    _note(held, state, now, message, SERVED)
    # One uniform number tells all attempts: what is left of it after a test is uniform again.
    lost = 0
    if message.chance < state.reliability:
        message.chance /= state.reliability
    else:
        message.chance = (message.chance - state.reliability) / (1.0 - state.reliability)
        lost = 1
    if state.link_delay > 0.0:
        _delay(held, TO_RECEIVER, now + state.link_delay, slot, lost)
    else:
        _reach_receiver(held, state, now, slot, lost)


@part
def _end_delay(held: Held, now: float) -> None:
    """The first of the delays that is due; else the slice has ended."""
    state = held.state[0]
    for ring in range(held.turns.shape[0]):
        head = held.turns[ring, 0]
        delayed = held.rings[ring, head]
        if held.turns[ring, 1] == 0 or delayed.due > now:
            continue
        held.turns[ring, 0] = (head + 1) & (held.rings.shape[1] - 1)
        held.turns[ring, 1] -= 1
        message = held.pool[delayed.slot]
        if ring == TO_BROKER:
            _arrive_at_broker(held, state, now, delayed.slot)
        elif ring == TO_RECEIVER:
            _reach_receiver(held, state, now, delayed.slot, delayed.lost)
        elif message.serial == delayed.serial and message.stage == INVISIBLE:
            _note(held, state, now, message, EXPIRED)
            _become_visible_again(held, state, now, delayed.slot)
        break
    else:
        _end_slice(held.tally, held.series, state)
    state.next_other = state.slice_end
    for ring in range(held.turns.shape[0]):
        if held.turns[ring, 1] > 0:
            due = held.rings[ring, held.turns[ring, 0]].due
            state.next_other = min(state.next_other, due)


@part
def _end_slice(tally: Floats, series: Floats, state: Any) -> None:
    for column in range(tally.size):
        series[state.slice, column] = tally[column]
        tally[column] = 0.0
    length = state.slice_length
    state.slice += 1
    state.slice_end += length
    tally[WAITING] = state.sender_waiting * length
    tally[SEEN] = state.visible * length
    tally[SENDER_BUSY] = state.sender_busy * length
    tally[BROKER_BUSY] = state.broker_busy * length
    tally[SENDER_ANY] = min(state.sender_busy, 1) * length
    tally[BROKER_ANY] = min(state.broker_busy, 1) * length
    tally[IN_SYSTEM] = state.in_system * length


@kernel
def advance(held: Held, events_max: int) -> int:
    """Runs to the end of the last slice (ENDED), or stops for want of room or for a pause."""
    state = held.state[0]
    slices = held.series.shape[0]
    if state.next_arrival < 0.0:
        state.next_arrival = draw(held.words[ARRIVAL], held.shapes, held.values, ARRIVAL_ROW)
    sent = held.sender[state.sender_busy].end
    served = held.broker[state.broker_busy].end
    arrival = state.next_arrival
    for _ in range(events_max):
        if state.slice == slices:
            return ENDED
        if state.full or state.free == NONE:
            return FULL
        other = state.next_other
        if min(sent, served) <= min(arrival, other):
            if served <= sent:
                now = served
                _end_service(held, state, now)
                served = held.broker[state.broker_busy].end
            else:
                now = sent
                sent = _end_sending(held, state, now)
        elif arrival < other:
            sent = min(sent, _produce(held, state, arrival))
            arrival = state.next_arrival
            continue
        else:
            now = other
            _end_delay(held, now)
        while state.visible > 0 and state.broker_busy < state.broker_threads:
            slot = _startable(held, state)
            if slot == NONE:
                break
            served = min(served, _lease(held, state, now, slot))
    return PAUSED
