"""SNAKES on the tandem net, driven by the clock loop that our simulator has.

SNAKES has no time: a delayed token goes to a place of its own, from which the loop takes it into an
agenda, and reaches its destination when it is due. Transitions that cannot fire
are not tried again before a place that they take from gains a token.
"""

import heapq
import itertools
import random
from typing import Any, Final

LATER: Final = "Later"


def run(
    arrivals: float, rate: float, servers: int, reliability: float, until: float, seed: int
) -> tuple[int, float]:
    """Returns firings and the mean time from production to delivery."""
    return _Loop(arrivals, rate, servers, reliability, random.Random(seed)).run(until)


class _Loop:
    def __init__(
        self, arrivals: float, rate: float, servers: int, reliability: float, rng: random.Random
    ) -> None:
        from snakes import nets as snakes

        self._snakes = snakes
        self._rng = rng
        self._now = 0.0
        self._agenda: list[tuple[float, int, str, Any]] = []
        self._tick = itertools.count()
        self._rates = {"Next": arrivals, "Sending": rate, "Processing": rate}
        self._net = net = snakes.PetriNet("tandem")
        net.globals["clock"] = lambda: self._now
        net.globals["drawn"] = lambda: rng.random() < reliability
        dots = [snakes.dot] * servers
        for name, tokens in (
            ("Next", [snakes.dot]), ("Ids", [1]), ("SendQueue", []), ("Senders", dots),
            ("Sending", []), ("Queue", []), ("Threads", dots), ("Processing", []),
        ):  # fmt: skip
            net.add_place(snakes.Place(name, tokens))
        for name in self._rates:
            net.add_place(snakes.Place(name + LATER))
        self._build()
        self._followers: dict[str, list[str]] = {}
        for transition in net.transition():
            for place, _ in transition.input():
                self._followers.setdefault(place.name, []).append(transition.name)

    def _build(self) -> None:
        message, dot = "(n, at)", "dot"
        got, drawn = "(n, at, ok)", "(n, at, drawn())"
        made = {"NextLater": dot, "Ids": "n + 1", "SendQueue": "(n, clock())"}
        self._transition("Produce", {"Next": dot, "Ids": "n"}, made)
        sent = {"SendQueue": message, "Senders": dot}
        self._transition("StartSend", sent, {"SendingLater": message})
        self._transition("EndSend", {"Sending": message}, {"Senders": dot, "Queue": message})
        self._transition("Get", {"Queue": message, "Threads": dot}, {"ProcessingLater": drawn})
        self._transition("Deliver", {"Processing": got}, {"Threads": dot}, "ok")
        self._transition("Lose", {"Processing": got}, {"Threads": dot, "Queue": message}, "not ok")

    def _transition(
        self, name: str, takes: dict[str, str], puts: dict[str, str], guard: str = "True"
    ) -> None:
        snakes = self._snakes
        self._net.add_transition(snakes.Transition(name, snakes.Expression(guard)))
        for place, text in takes.items():
            self._net.add_input(place, name, self._pattern(text))
        for place, text in puts.items():
            made = snakes.Value(snakes.dot) if text == "dot" else snakes.Expression(text)
            self._net.add_output(place, name, made)

    def _pattern(self, text: str) -> Any:
        snakes = self._snakes
        if text == "dot":
            return snakes.Value(snakes.dot)
        if text.startswith("("):
            return snakes.Tuple([snakes.Variable(part) for part in text.strip("()").split(", ")])
        return snakes.Variable(text)

    def run(self, until: float) -> tuple[int, float]:
        fired, delivered, total = 0, 0, 0.0
        candidates = [transition.name for transition in self._net.transition()]
        transitions = {name: self._net.transition(name) for name in candidates}
        while True:
            while candidates:
                at = self._rng.randrange(len(candidates))
                name = candidates[at]
                modes = transitions[name].modes()
                if not modes:
                    candidates[at] = candidates[-1]
                    candidates.pop()
                    continue
                mode = self._rng.choice(modes)
                transitions[name].fire(mode)
                fired += 1
                if name == "Deliver":
                    delivered += 1
                    total += self._now - mode["at"]
                for place, _ in transitions[name].output():
                    self._settle(place, candidates)
            if not self._agenda or self._agenda[0][0] > until:
                return fired, total / max(1, delivered)
            self._now = self._agenda[0][0]
            while self._agenda and self._agenda[0][0] == self._now:
                _, _, name, token = heapq.heappop(self._agenda)
                self._net.place(name).add([token])
                self._wake(name, candidates)

    def _settle(self, place: Any, candidates: list[str]) -> None:
        if not place.name.endswith(LATER):
            self._wake(place.name, candidates)
            return
        name = place.name.removesuffix(LATER)
        for token in list(place.tokens):
            due = self._now + self._rng.expovariate(self._rates[name])
            heapq.heappush(self._agenda, (due, next(self._tick), name, token))
        place.empty()

    def _wake(self, place: str, candidates: list[str]) -> None:
        for name in self._followers.get(place, ()):
            if name not in candidates:
                candidates.append(name)
