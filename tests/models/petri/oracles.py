"""State spaces counted by hand-written rules, without the engine."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

State = TypeVar("State", bound=Hashable)


def reachable(start: State, after: Callable[[State], Iterable[State]]) -> tuple[int, int]:
    """Counts (states, firings) by plain search."""
    seen, waiting, firings = {start}, [start], 0
    while waiting:
        for other in after(waiting.pop()):
            firings += 1
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return len(seen), firings


def philosophers(count: int) -> tuple[int, int]:
    """A philosopher thinks (0), holds the left fork (1) or both (2)."""

    def free(state: tuple[int, ...], fork: int) -> bool:
        return state[fork] == 0 and state[fork - 1] != 2

    def after(state: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        for one, doing in enumerate(state):
            may = (free(state, one), free(state, (one + 1) % count), True)[doing]
            if may:
                yield (*state[:one], (doing + 1) % 3, *state[one + 1 :])

    return reachable((0,) * count, after)


def token_ring(stations: int) -> tuple[int, int]:
    """(where the token is, or -1 while its holder works; what each station does)."""

    def after(state: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        token, doing = state[0], state[1:]
        for one, now in enumerate(doing):
            on = (one + 1) % stations
            if now == 0:
                yield (token, *doing[:one], 1, *doing[one + 1 :])
                if token == one:
                    yield (on, *doing)
            elif now == 1 and token == one:
                yield (-1, *doing[:one], 2, *doing[one + 1 :])
            elif now == 2:
                yield (on, *doing[:one], 0, *doing[one + 1 :])

    return reachable((0,) + (0,) * stations, after)


def simple_protocol(packets: int, capacity: int) -> int:
    """(next to send, next to receive, packets under way, acknowledgements under way)."""
    Ways = tuple[int, ...]

    def without(way: Ways, one: int) -> Ways:
        at = way.index(one)
        return way[:at] + way[at + 1 :]

    def after(state: tuple[int, int, Ways, Ways]) -> Iterator[tuple[int, int, Ways, Ways]]:
        send, receive, there, back = state
        if send <= packets and len(there) < capacity:
            yield send, receive, tuple(sorted((*there, send))), back
        for one in set(there):
            left = without(there, one)
            yield send, receive, left, back
            if len(back) < capacity:
                following = receive + 1 if one == receive else receive
                yield send, following, left, tuple(sorted((*back, following)))
        for one in set(back):
            yield send, receive, there, without(back, one)
            yield max(send, one), receive, there, without(back, one)

    empty: Ways = ()
    return reachable((1, 1, empty, empty), after)[0]


def alternating_bit(capacity: int) -> int:
    Way = tuple[bool, ...]
    Full = tuple[bool, bool, bool, Way, Way]

    def after(state: Full) -> Iterator[Full]:
        sent, bit, wanted, there, back = state
        if len(there) < capacity:
            yield True, bit, wanted, (*there, bit), back
        if len(back) < capacity:
            yield sent, bit, wanted, there, (*back, not wanted)
        if there:
            yield sent, bit, wanted, there[1:], back
            yield sent, bit, wanted ^ (there[0] == wanted), there[1:], back
        if back:
            yield sent, bit, wanted, there, back[1:]
            if sent:
                right = back[0] == bit
                yield not right, bit ^ right, wanted, there, back[1:]

    empty: Way = ()
    return reachable((False, False, False, empty, empty), after)[0]
