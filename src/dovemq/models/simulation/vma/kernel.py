"""The loop over the events of the tandem, compiled.

The next event is the soonest of a production, the end of a sending, the end of a service, and all
others: delays of a link or a timeout, and the end of a slice. At the same instant, acknowledgements
come first, and only then free threads take messages. All times of a message are drawn when it is
produced, so that they do not depend on the number of threads and the order.
"""

import math
from typing import Any, Final

from dovemq.models.checks import Floats
from dovemq.models.simulation.compiled import codes, inlined, kernel, part
from dovemq.models.simulation.histogram import bin_of
from dovemq.models.simulation.replication import NONE, change, keep_slice
from dovemq.models.simulation.runs import ENDED, FULL, PAUSED
from dovemq.models.simulation.sampling import Rows, draw
from dovemq.models.simulation.streams import uniform
from dovemq.models.simulation.vma.state import TandemArrays, Whole

SENDING, VISIBLE, INVISIBLE, DONE = range(4)
TO_BROKER, TO_RECEIVER, TIMER = codes(0, 3)
SEND_HEAD, SEND_TAIL, LEASE_HEAD, LEASE_TAIL, AGAIN_HEAD = codes(0, 5)
ARRIVAL, CLASS, SENDER, BROKER, CHANCE, AGAIN = range(6)
WAITING, SEEN, SENDER_BUSY, BROKER_BUSY, SENDER_ANY, BROKER_ANY, IN_SYSTEM = codes(0, 7)
ARRIVED, SEND_STARTED, SENT, LEASED, SERVED, LOST, EXPIRED, RECEIVED, REPEATED = codes(7, 16)
(UNDECIDED,) = codes(0, 1)
(ARRIVAL_ROW,) = codes(0, 1)
SUMS_FIRST: Final = 16
SUMS_WIDTH: Final = 4


@part
def _record(record: Rows, state: Any, now: float, message: Any, event: int) -> None:
    row = record[state.rows]
    row.time, row.event = now, event - ARRIVED
    row.message, row.kind = message.serial, message.kind
    state.rows += 1


@inlined
def _note(arrays: TandemArrays, state: Any, now: float, message: Any, event: int) -> None:
    arrays.tally[event] += 1.0
    if state.rows < arrays.record.size:
        _record(arrays.record, state, now, message, event)


@inlined
def _hold(threads: Rows, busy: int, slot: int, end: float) -> None:
    """Inserts the end of a service in order; `busy` counts the busy threads without it."""
    place = busy
    while threads[place].end < end:
        threads[place + 1].end = threads[place].end
        threads[place + 1].slot = threads[place].slot
        place -= 1
    threads[place + 1].end = end
    threads[place + 1].slot = slot


@inlined
def _append(lists: Whole, head: int, level: int, slot: int) -> int:
    """Appends a slot and returns the slot before it, or NONE; the row after `head` is the tail."""
    last = NONE
    if lists[head, level] == NONE:
        lists[head, level] = slot
    else:
        last = lists[head + 1, level]
    lists[head + 1, level] = slot
    return last


@part
def _delay(arrays: TandemArrays, ring: int, due: float, slot: int, lost: int) -> None:
    state, room = arrays.state[0], arrays.rings.shape[1]
    delayed = arrays.rings[ring, (arrays.turns[ring, 0] + arrays.turns[ring, 1]) & (room - 1)]
    delayed.due, delayed.slot, delayed.lost = due, slot, lost
    delayed.serial = arrays.pool[slot].serial
    arrays.turns[ring, 1] += 1
    state.next_other = min(state.next_other, due)
    # One event may lease once for every thread that is idle.
    if arrays.turns[ring, 1] + state.broker_threads + 1 > room:
        state.full = 1


@inlined
def _start_sending(arrays: TandemArrays, state: Any, now: float, slot: int) -> float:
    message = arrays.pool[slot]
    end: float = now + message.sender_time
    _hold(arrays.sender, state.sender_busy, slot, end)
    state.sender_busy += 1
    _note(arrays, state, now, message, SEND_STARTED)
    return end


@inlined
def _wait_for_sender(arrays: TandemArrays, state: Any, now: float, slot: int) -> None:
    arrays.pool[slot].link = NONE
    last = _append(arrays.lists, SEND_HEAD, arrays.pool[slot].level, slot)
    if last != NONE:
        arrays.pool[last].link = slot
    state.sender_waiting += 1
    change(arrays.tally, state, now, WAITING, 1.0)


@inlined
def _put_in_turn(arrays: TandemArrays, slot: int) -> None:
    arrays.pool[slot].after = NONE
    last = _append(arrays.lists, LEASE_HEAD, arrays.pool[slot].level, slot)
    if last != NONE:
        arrays.pool[last].after = slot


@inlined
def _produce(arrays: TandemArrays, state: Any, now: float) -> float:
    slot = state.free
    message = arrays.pool[slot]
    state.free = message.link
    kind = 0
    if arrays.kinds.size > 1:
        chance = uniform(arrays.words[CLASS])
        while chance >= arrays.kinds[kind].share:
            kind += 1
    row = arrays.kinds[kind]
    message.arrived = now
    message.sender_time = draw(arrays.words[SENDER], arrays.shapes, arrays.values, row.sender)
    message.broker_time = draw(arrays.words[BROKER], arrays.shapes, arrays.values, row.broker)
    message.chance = uniform(arrays.words[CHANCE])
    message.serial = state.serial
    message.copies = message.leases = message.listed = 0
    message.kind, message.level, message.stage = kind, row.level, SENDING
    state.serial += 1
    state.next_arrival = now + draw(
        arrays.words[ARRIVAL], arrays.shapes, arrays.values, ARRIVAL_ROW
    )
    state.in_system += 1
    change(arrays.tally, state, now, IN_SYSTEM, 1.0)
    _note(arrays, state, now, message, ARRIVED)
    if state.in_order:
        _put_in_turn(arrays, slot)
    if state.sender_busy < state.sender_threads:
        if state.sender_busy == 0:
            change(arrays.tally, state, now, SENDER_ANY, 1.0)
        change(arrays.tally, state, now, SENDER_BUSY, 1.0)
        return _start_sending(arrays, state, now, slot)
    _wait_for_sender(arrays, state, now, slot)
    return math.inf


@inlined
def _arrive_at_broker(arrays: TandemArrays, state: Any, now: float, slot: int) -> None:
    message = arrays.pool[slot]
    message.sent = now
    message.stage = VISIBLE
    state.visible += 1
    change(arrays.tally, state, now, SEEN, 1.0)
    if not state.in_order:
        _put_in_turn(arrays, slot)


@inlined
def _end_sending(arrays: TandemArrays, state: Any, now: float) -> float:
    slot = arrays.sender[state.sender_busy].slot
    state.sender_busy -= 1
    soonest: float = arrays.sender[state.sender_busy].end
    _note(arrays, state, now, arrays.pool[slot], SENT)
    if state.sender_waiting > 0:
        level = 0
        while arrays.lists[SEND_HEAD, level] == NONE:
            level += 1
        waiting = arrays.lists[SEND_HEAD, level]
        arrays.lists[SEND_HEAD, level] = arrays.pool[waiting].link
        state.sender_waiting -= 1
        change(arrays.tally, state, now, WAITING, -1.0)
        soonest = min(soonest, _start_sending(arrays, state, now, waiting))
    else:
        change(arrays.tally, state, now, SENDER_BUSY, -1.0)
        if state.sender_busy == 0:
            change(arrays.tally, state, now, SENDER_ANY, -1.0)
    if state.link_delay > 0.0:
        _delay(arrays, TO_BROKER, now + state.link_delay, slot, UNDECIDED)
    else:
        _arrive_at_broker(arrays, state, now, slot)
    return soonest


@inlined
def _release(arrays: TandemArrays, state: Any, slot: int) -> None:
    """Gives the slot back once nothing refers to the message."""
    message = arrays.pool[slot]
    if message.copies == 0 and message.listed == 0:
        message.link = state.free
        state.free = slot


@inlined
def _startable(arrays: TandemArrays, state: Any) -> int:
    """Takes the message that the broker may start from its list; NONE if there is none."""
    for level in range(arrays.lists.shape[1]):
        while arrays.lists[AGAIN_HEAD, level] != NONE:
            slot: int = arrays.lists[AGAIN_HEAD, level]
            message = arrays.pool[slot]
            arrays.lists[AGAIN_HEAD, level] = message.link
            message.listed = 0
            if message.stage == VISIBLE:
                return slot
            _release(arrays, state, slot)
        first: int = arrays.lists[LEASE_HEAD, level]
        if first != NONE and arrays.pool[first].stage == VISIBLE:
            arrays.lists[LEASE_HEAD, level] = arrays.pool[first].after
            return first
    return NONE


@inlined
def _lease(arrays: TandemArrays, state: Any, now: float, slot: int) -> float:
    message = arrays.pool[slot]
    if message.leases == 0:
        message.leased = now
        service = message.broker_time
    else:
        row = arrays.kinds[message.kind].broker
        service = draw(arrays.words[AGAIN], arrays.shapes, arrays.values, row)
    message.leases += 1
    message.copies += 1
    message.stage = INVISIBLE
    state.visible -= 1
    change(arrays.tally, state, now, SEEN, -1.0)
    end: float = now + service
    _hold(arrays.broker, state.broker_busy, slot, end)
    if state.broker_busy == 0:
        change(arrays.tally, state, now, BROKER_ANY, 1.0)
    state.broker_busy += 1
    change(arrays.tally, state, now, BROKER_BUSY, 1.0)
    _note(arrays, state, now, message, LEASED)
    if state.timed:
        _delay(arrays, TIMER, now + state.visibility_timeout, slot, UNDECIDED)
    return end


@inlined
def _receive(arrays: TandemArrays, state: Any, now: float, message: Any) -> None:
    if message.stage == VISIBLE:
        # It had expired early and waits to be leased again: it is deleted where it waits.
        state.visible -= 1
        change(arrays.tally, state, now, SEEN, -1.0)
    message.stage = DONE
    state.in_system -= 1
    change(arrays.tally, state, now, IN_SYSTEM, -1.0)
    _note(arrays, state, now, message, RECEIVED)
    sojourn = now - message.arrived
    first = SUMS_FIRST + SUMS_WIDTH * message.kind
    arrays.tally[first] += 1.0
    arrays.tally[first + 1] += sojourn
    arrays.tally[first + 2] += message.sent - message.arrived
    arrays.tally[first + 3] += message.leased - message.sent
    if state.slice > 0:
        arrays.histogram[message.kind, bin_of(sojourn * state.per_scale)] += 1


@inlined
def _become_visible_again(arrays: TandemArrays, state: Any, now: float, slot: int) -> None:
    message = arrays.pool[slot]
    message.stage = VISIBLE
    message.listed = 1
    message.link = arrays.lists[AGAIN_HEAD, message.level]
    arrays.lists[AGAIN_HEAD, message.level] = slot
    state.visible += 1
    change(arrays.tally, state, now, SEEN, 1.0)


@inlined
def _reach_receiver(arrays: TandemArrays, state: Any, now: float, slot: int, lost: int) -> None:
    message = arrays.pool[slot]
    message.copies -= 1
    if lost:
        _note(arrays, state, now, message, LOST)
        if not state.timed:
            _become_visible_again(arrays, state, now, slot)
    elif message.stage == DONE:
        _note(arrays, state, now, message, REPEATED)
    else:
        _receive(arrays, state, now, message)
    if message.stage == DONE:
        _release(arrays, state, slot)


@inlined
def _end_service(arrays: TandemArrays, state: Any, now: float) -> None:
    slot = arrays.broker[state.broker_busy].slot
    message = arrays.pool[slot]
    state.broker_busy -= 1
    change(arrays.tally, state, now, BROKER_BUSY, -1.0)
    if state.broker_busy == 0:
        change(arrays.tally, state, now, BROKER_ANY, -1.0)
    _note(arrays, state, now, message, SERVED)
    # One uniform number tells all attempts: what is left of it after a test is uniform again.
    lost = 0
    if message.chance < state.reliability:
        message.chance /= state.reliability
    else:
        message.chance = (message.chance - state.reliability) / (1.0 - state.reliability)
        lost = 1
    if state.link_delay > 0.0:
        _delay(arrays, TO_RECEIVER, now + state.link_delay, slot, lost)
    else:
        _reach_receiver(arrays, state, now, slot, lost)


@part
def _end_delay(arrays: TandemArrays, now: float) -> None:
    """Handles the first delay that is due, or the end of the slice."""
    state = arrays.state[0]
    for ring in range(arrays.turns.shape[0]):
        head = arrays.turns[ring, 0]
        delayed = arrays.rings[ring, head]
        if arrays.turns[ring, 1] == 0 or delayed.due > now:
            continue
        arrays.turns[ring, 0] = (head + 1) & (arrays.rings.shape[1] - 1)
        arrays.turns[ring, 1] -= 1
        message = arrays.pool[delayed.slot]
        if ring == TO_BROKER:
            _arrive_at_broker(arrays, state, now, delayed.slot)
        elif ring == TO_RECEIVER:
            _reach_receiver(arrays, state, now, delayed.slot, delayed.lost)
        elif message.serial == delayed.serial and message.stage == INVISIBLE:
            _note(arrays, state, now, message, EXPIRED)
            _become_visible_again(arrays, state, now, delayed.slot)
        break
    else:
        _end_slice(arrays.tally, arrays.series, state)
    state.next_other = state.slice_end
    for ring in range(arrays.turns.shape[0]):
        if arrays.turns[ring, 1] > 0:
            due = arrays.rings[ring, arrays.turns[ring, 0]].due
            state.next_other = min(state.next_other, due)


@part
def _end_slice(tally: Floats, series: Floats, state: Any) -> None:
    keep_slice(tally, series, state)
    length = state.slice_length
    tally[WAITING] = state.sender_waiting * length
    tally[SEEN] = state.visible * length
    tally[SENDER_BUSY] = state.sender_busy * length
    tally[BROKER_BUSY] = state.broker_busy * length
    tally[SENDER_ANY] = min(state.sender_busy, 1) * length
    tally[BROKER_ANY] = min(state.broker_busy, 1) * length
    tally[IN_SYSTEM] = state.in_system * length


@inlined
def _is_due(arrays: TandemArrays, ring: int, now: float) -> bool:
    due = arrays.rings[ring, arrays.turns[ring, 0]].due
    return bool(arrays.turns[ring, 1] > 0 and due <= now)


@kernel
def advance(arrays: TandemArrays, events_max: int) -> int:
    """Runs to the end of the last slice (ENDED), or until there is no room (FULL), or PAUSED."""
    state = arrays.state[0]
    slices = arrays.series.shape[0]
    if state.next_arrival < 0.0:
        state.next_arrival = draw(arrays.words[ARRIVAL], arrays.shapes, arrays.values, ARRIVAL_ROW)
    sent = arrays.sender[state.sender_busy].end
    served = arrays.broker[state.broker_busy].end
    arrival = state.next_arrival
    for _ in range(events_max):
        if state.slice == slices:
            return ENDED
        if state.full or state.free == NONE:
            return FULL
        other = state.next_other
        soonest = min(sent, served)
        if soonest <= min(arrival, other) and not (
            soonest == other and _is_due(arrays, TO_RECEIVER, other)
        ):
            if served <= sent:
                now = served
                _end_service(arrays, state, now)
                served = arrays.broker[state.broker_busy].end
            else:
                now = sent
                sent = _end_sending(arrays, state, now)
        elif arrival < other:
            sent = min(sent, _produce(arrays, state, arrival))
            arrival = state.next_arrival
            continue
        else:
            now = other
            _end_delay(arrays, now)
        if served == now or (state.next_other == now and _is_due(arrays, TO_RECEIVER, now)):
            # An acknowledgement of this instant may delete what a free thread would take.
            continue
        while state.visible > 0 and state.broker_busy < state.broker_threads:
            slot = _startable(arrays, state)
            if slot == NONE:
                break
            served = min(served, _lease(arrays, state, now, slot))
    return PAUSED
