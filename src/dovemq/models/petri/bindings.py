"""The order in which a transition searches for a binding.

A plan is a list of steps, the most selective first. Both engines follow it: the simulator stops at
the first binding, the state space takes all. For the transition

    Requests ──(c, n)──► Serve ◄──c── Clients        guard n < 10, c != idle
    Idle ─────────()───►

the plan is: Idle holds a token; scan Requests, which binds c and n; test n < 10; test c != idle;
look up c in Clients. Counts come first because they cost nothing. A test or a look-up comes as
soon as its variables are bound, since it only removes candidates. Among the places left, the one
whose pattern contains the most bound variables is scanned next. Variables that no arc binds come
last and take every value of their colour sets.
"""

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from dovemq.models.petri.bags import Bag
from dovemq.models.petri.colours import Colour, ColourFit, fits, one_value
from dovemq.models.petri.errors import ExpressionInvalid
from dovemq.models.petri.expressions import names_in
from dovemq.models.petri.inference import Scope, Typed, infer
from dovemq.models.petri.multisets import totals
from dovemq.models.petri.patterns import ArcPattern, taken_apart


@dataclass(frozen=True, slots=True)
class Take:
    """An input arc that takes `count` tokens that match `tree`."""

    place: int
    colour: Colour
    count: int
    tree: ast.expr
    value: Typed
    arc: str


@dataclass(frozen=True, slots=True)
class ComputedTake:
    """An input arc whose multiset can be computed only when all its variables are bound."""

    place: int
    bag: Bag
    names: frozenset[str]
    arc: str


@dataclass(frozen=True, slots=True)
class Enough:
    """The place must hold `count` tokens of its only value."""

    place: int
    count: int


@dataclass(frozen=True, slots=True)
class Scan:
    """Try every token of the place that matches; code refers to its value as `subject`."""

    take: Take
    subject: str
    pattern: ArcPattern
    known: frozenset[str]


@dataclass(frozen=True, slots=True)
class LookUp:
    """Find the token whose value the bound variables determine."""

    take: Take
    subject: str


@dataclass(frozen=True, slots=True)
class Assign:
    """Bind a variable to a value. `runtime_check` is a colour that the value may not belong to."""

    variable: str
    value: str
    runtime_check: Colour | None = None


@dataclass(frozen=True, slots=True)
class Test:
    code: str


@dataclass(frozen=True, slots=True)
class Draw:
    """Try every value of the colour set of a variable that no arc binds."""

    variable: str
    values: tuple[Any, ...]


SearchStep: TypeAlias = Enough | Scan | LookUp | Assign | Test | Draw


@dataclass(slots=True)
class SearchPlan:
    steps: list[SearchStep] = field(default_factory=list)
    computed_takes: list[ComputedTake] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    """The variables in the order of binding."""


def planned(
    takes: Iterable[Take],
    computed_takes: Iterable[ComputedTake],
    guards: Iterable[ast.expr],
    needed: Iterable[str],
    scope: Scope,
) -> SearchPlan:
    """Plans a search. `needed` are the variables used by code, delays and output arcs."""
    planner = _Planner(scope, list(guards))
    planner.count([take for take in takes if one_value(take.colour)])
    planner.search([take for take in takes if not one_value(take.colour)])
    wanted = {name for part in computed_takes for name in part.names} | set(needed)
    planner.draw(wanted)
    planner.plan.computed_takes = list(computed_takes)
    return planner.plan


class _Planner:
    def __init__(self, scope: Scope, guards: list[ast.expr]) -> None:
        self.plan = SearchPlan()
        self._scope = scope
        self._guards = guards
        self._known: set[str] = set()

    def count(self, takes: list[Take]) -> None:
        counts = totals((take.place, take.count) for take in takes)
        self.plan.steps += [Enough(place, count) for place, count in counts.items()]
        # Their value is known: a variable is bound to it, an expression must equal it.
        for take in takes:
            values = take.colour.values()
            assert values is not None
            if isinstance(take.tree, ast.Name) and take.tree.id in self._scope.variables:
                self._assign(take.tree.id, repr(values[0]))
            elif self._names(take.tree):
                self._guards.append(_equal(take.tree, values[0]))
        self._settle()

    def search(self, takes: list[Take]) -> None:
        waiting = takes
        # Each round removes an arc or binds a variable, so the loop ends.
        while waiting:
            ready = [take for take in waiting if self._names(take.tree) <= self._known]
            solvable = [take for take in waiting if not self._unsolved(take)]
            if not ready and not solvable:
                self._try_values(waiting[0])
                continue
            chosen = ready[0] if ready else max(solvable, key=self._knowledge)
            waiting = [take for take in waiting if take is not chosen]
            subject = f"s{len(self.plan.steps)}"
            if ready:
                self.plan.steps.append(LookUp(chosen, subject))
            else:
                self._scan(chosen, subject)
            self._settle()

    def draw(self, needed: set[str]) -> None:
        """Binds free variables: those of guards first, the smallest colour set first."""
        while free := sorted((needed | self._in_guards()) - self._known):
            finite = self._finite(free)
            if not finite:
                raise ExpressionInvalid(
                    f"nothing binds the variable {free[0]}: no input arc, and its colour set has "
                    "too many values to try"
                )
            name = min(finite, key=lambda each: (each not in self._in_guards(), len(finite[each])))
            self._draw(name, finite)

    def _in_guards(self) -> set[str]:
        return {name for guard in self._guards for name in self._names(guard)}

    def _names(self, tree: ast.AST) -> set[str]:
        return {name for name in names_in(tree) if name in self._scope.variables}

    def _try_values(self, take: Take) -> None:
        """Binds a variable of a pattern that cannot be solved, such as `k * 2`, to each value."""
        unsolved = self._unsolved(take)
        finite = self._finite(unsolved)
        if len(finite) < len(unsolved):
            names = ", ".join(sorted(unsolved - set(finite)))
            raise ExpressionInvalid(
                f"{ast.unparse(take.tree)} cannot be solved for {names}: bind it by another arc"
            )
        self._draw(min(finite, key=lambda name: (len(finite[name]), name)), finite)

    def _finite(self, names: Iterable[str]) -> dict[str, tuple[Any, ...]]:
        """The values of those variables whose colour sets can be enumerated."""
        sets = ((name, self._scope.variables[name].values()) for name in names)
        return {name: values for name, values in sets if values is not None}

    def _draw(self, name: str, values: Mapping[str, tuple[Any, ...]]) -> None:
        self.plan.steps.append(Draw(name, values[name]))
        self._bound(name)
        self._settle()

    def _unsolved(self, take: Take) -> set[str]:
        """Unbound variables that occur only inside computed parts of the pattern."""
        pattern = taken_apart(take.tree, take.colour, self._scope, "s")
        return self._names(take.tree) - set(pattern.binds) - self._known

    def _knowledge(self, take: Take) -> int:
        pattern = taken_apart(take.tree, take.colour, self._scope, "s")
        return sum(name in self._known for name in pattern.binds) + len(pattern.computed)

    def _scan(self, take: Take, subject: str) -> None:
        pattern = taken_apart(take.tree, take.colour, self._scope, subject)
        self.plan.steps.append(Scan(take, subject, pattern, frozenset(self._known)))
        for name in pattern.binds:
            if name not in self._known:
                self._bound(name)

    def _bound(self, name: str) -> None:
        self._known.add(name)
        self.plan.order.append(name)

    def _assign(self, name: str, value: str, runtime_check: Colour | None = None) -> None:
        if name not in self._known:
            self.plan.steps.append(Assign(name, value, runtime_check))
            self._bound(name)

    def _settle(self) -> None:
        """Adds the tests whose variables are bound; `x == …` binds x if only x is unbound."""
        # Binding a variable may make further guards ready; each round removes a guard.
        again = True
        while again:
            again = False
            for guard in list(self._guards):
                if self._names(guard) <= self._known:
                    self._guards.remove(guard)
                    self.plan.steps.append(Test(infer(guard, self._scope).code))
                elif found := self._solved(guard):
                    self._guards.remove(guard)
                    self._assign(*found)
                    again = True

    def _solved(self, guard: ast.expr) -> tuple[str, str, Colour | None] | None:
        if not isinstance(guard, ast.Compare) or [type(op) for op in guard.ops] != [ast.Eq]:
            return None
        sides = (guard.left, guard.comparators[0])
        for name, value in (sides, sides[::-1]):
            if not isinstance(name, ast.Name) or name.id not in self._scope.variables:
                continue
            if name.id not in self._known and self._names(value) <= self._known:
                typed = infer(value, self._scope)
                colour = self._scope.variables[name.id]
                sure = fits(typed.colour, colour) is ColourFit.YES
                return name.id, typed.code, None if sure else colour
        return None


def _equal(tree: ast.expr, value: Any) -> ast.expr:
    constant = ast.Tuple([], ast.Load()) if value == () else ast.Constant(value)
    return ast.Compare(tree, [ast.Eq()], [constant])
