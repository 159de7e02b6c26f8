"""Lines between boxes that pass around other boxes, and free spots for labels.

A line is straight if it can be. Otherwise it bends at corners of the boxes in its way, at a
distance that grows with the number of lines that already bend there:

    ┌───┐   ╭────────────╮    ┌───┐
    │ a ├───╯  ┌───────┐ ╰───►│ b │
    └───┘      │ other │      └───┘
               └───────┘
"""

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, pairwise
from typing import Final

Point = tuple[float, float]
CLEARANCE: Final = 10.0
"""The least distance between a line and a box that is not one of its ends."""
LANE: Final = 8.0
"""The distance between two lines that bend around the same box."""
LANES_MAX: Final = 4
BEND_COST: Final = 40.0
"""The length that a line may gain to save a bend."""
SEARCH_MAX: Final = 200
"""Points that the search for one line looks at; after that, the line is straight."""
NEAR_MAX: Final = 12
"""Boxes whose corners are tried from one point."""
TESTS_MAX: Final = 2_000_000
"""Tests of a line against a box in one drawing; after that, lines are straight."""
SPOTS: Final = (0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8)
"""Positions of a label along its line, in order of preference."""


@dataclass(frozen=True, slots=True)
class Box:
    left: float
    top: float
    right: float
    bottom: float

    @classmethod
    def around(cls, middle: Point, half_width: float, half_height: float) -> "Box":
        x, y = middle
        return cls(x - half_width, y - half_height, x + half_width, y + half_height)

    def grown(self, by: float) -> "Box":
        return Box(self.left - by, self.top - by, self.right + by, self.bottom + by)

    @property
    def corners(self) -> tuple[Point, Point, Point, Point]:
        return (
            (self.left, self.top),
            (self.right, self.top),
            (self.right, self.bottom),
            (self.left, self.bottom),
        )

    def overlap(self, other: "Box") -> float:
        """The common area."""
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return width * height if width > 0 and height > 0 else 0.0

    def entered(self, start: Point, end: Point) -> float | None:
        """The part of the way from `start` to `end` at which it enters the box, if it does."""
        first, last = 0.0, 1.0
        sides = ((self.left, self.right), (self.top, self.bottom))
        for at, to, (low, high) in zip(start, end, sides, strict=True):
            way = to - at
            if not way:
                if not low < at < high:
                    return None
                continue
            near, far = sorted(((low - at) / way, (high - at) / way))
            first, last = max(first, near), min(last, far)
        return first if first < last else None


@dataclass(slots=True)
class Router:
    """Finds the lines of one drawing, one after the other."""

    boxes: Mapping[str, Box]
    _bends: dict[str, int] = field(default_factory=dict)
    """The number of lines that bend around each box."""
    _tests: int = 0

    def line(self, source: str, target: str) -> list[Point]:
        """The middle of the source, the bends, and the middle of the target."""
        start, end = (_middle(self.boxes[name]) for name in (source, target))
        costs: dict[Point, float] = {start: 0.0}
        came: dict[Point, tuple[Point, str]] = {}
        tick = count()
        waiting = [(math.dist(start, end), next(tick), start)]
        for _ in range(SEARCH_MAX):
            if not waiting or self._tests > TESTS_MAX:
                break
            _, _, at = heapq.heappop(waiting)
            if at == end:
                return self._followed(came, start, end)
            for point, box in self._visible(at, source, target, end):
                cost = costs[at] + math.dist(at, point) + BEND_COST
                if cost < costs.get(point, math.inf):
                    costs[point], came[point] = cost, (at, box)
                    heapq.heappush(waiting, (cost + math.dist(point, end), next(tick), point))
        return [start, end]

    def _followed(
        self, came: Mapping[Point, tuple[Point, str]], start: Point, end: Point
    ) -> list[Point]:
        found = [end]
        while found[-1] != start:
            point, box = came[found[-1]]
            if box:
                self._bends[box] = self._bends.get(box, 0) + 1
            found.append(point)
        return found[::-1]

    def _visible(
        self, at: Point, source: str, target: str, end: Point
    ) -> Iterator[tuple[Point, str]]:
        """The end of the line, or corners of boxes that block it, each with its box."""
        waiting: list[tuple[Point, str]] = [(end, "")]
        seen: set[str] = set()
        while waiting:
            point, box = waiting.pop()
            blocking = self._blocking(at, point, source, target, end)
            if blocking is None:
                if point != at:
                    yield point, box
            elif blocking not in seen and len(seen) < NEAR_MAX:
                seen.add(blocking)
                lane = min(self._bends.get(blocking, 0), LANES_MAX) + 0.5
                corners = self.boxes[blocking].grown(CLEARANCE + LANE * lane).corners
                waiting += [(corner, blocking) for corner in corners]

    def _blocking(
        self, start: Point, point: Point, source: str, target: str, end: Point
    ) -> str | None:
        """The first box between two points. A line may cross its own ends only to reach them."""
        self._tests += len(self.boxes)
        left, right = sorted((start[0], point[0]))
        top, bottom = sorted((start[1], point[1]))
        found: tuple[float, str] | None = None
        for name, box in self.boxes.items():
            if box.left - right >= CLEARANCE or left - box.right >= CLEARANCE:
                continue
            if box.top - bottom >= CLEARANCE or top - box.bottom >= CLEARANCE:
                continue
            own = (name == source and start == _middle(box)) or (name == target and point == end)
            entered = None if own else box.grown(CLEARANCE).entered(start, point)
            if entered is not None and (found is None or entered < found[0]):
                found = (entered, name)
        return None if found is None else found[1]


def _middle(box: Box) -> Point:
    return (box.left + box.right) / 2, (box.top + box.bottom) / 2


def point_at(line: Sequence[Point], part: float) -> tuple[Point, Point]:
    """The point at this part of the length of a line, and the direction of the line there."""
    rest = part * sum(math.dist(start, end) for start, end in pairwise(line))
    for start, end in pairwise(line):
        length = math.dist(start, end)
        if rest <= length and length:
            x, y = (end[0] - start[0]) / length, (end[1] - start[1]) / length
            return (start[0] + rest * x, start[1] + rest * y), (x, y)
        rest -= length
    return line[-1], (1.0, 0.0)


@dataclass(slots=True)
class Labels:
    """Places labels beside their lines, clear of boxes, texts, other labels and other lines."""

    taken: list[Box]
    lines: Sequence[Sequence[Point]]

    def place(self, line: Sequence[Point], width: float, height: float) -> Box:
        xs, ys = zip(*line, strict=True)
        area = Box(min(xs) - width, min(ys) - width, max(xs) + width, max(ys) + width)
        taken = [box for box in self.taken if box.overlap(area)]
        ways = [way for other in self.lines for way in pairwise(other)]
        ways = [way for way in ways if area.entered(*way) is not None]

        def cost(box: Box) -> float:
            crossed = sum(box.entered(*way) is not None for way in ways)
            return 10 * sum(map(box.overlap, taken)) + width * crossed

        best, least = Box(0, 0, 0, 0), math.inf
        for box in _spots(line, width, height):
            if (found := cost(box)) < least:
                best, least = box, found
            if not least:
                break
        self.taken.append(best)
        return best


def _spots(line: Sequence[Point], width: float, height: float) -> Iterator[Box]:
    """Boxes on both sides of the line that touch it nearly, then boxes on the line itself."""
    for part in SPOTS:
        (x, y), (dx, dy) = point_at(line, part)
        away = abs(dy) * width / 2 + abs(dx) * height / 2 + 2
        for side in (away, -away) if dx > 0 else (-away, away):
            yield Box.around((x + dy * side, y - dx * side), width / 2, height / 2)
    for part in SPOTS:
        yield Box.around(point_at(line, part)[0], width / 2, height / 2)
