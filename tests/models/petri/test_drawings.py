"""Drawings and players: complete, readable, and unable to load anything."""

import json
import random
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from bench import nets
from dovemq.models.petri import (
    Net,
    NetInvalid,
    Simulation,
    String,
    hierarchy_svg,
    page_svg,
    player_html,
    record,
)
from dovemq.models.petri.hierarchy import instances
from dovemq.models.petri.layout import positions
from dovemq.models.petri.vma import vma_net
from dovemq.models.vma.parameters import PAPER

SVG = "{http://www.w3.org/2000/svg}"
TUTORIAL = Path(__file__).resolve().parents[3] / "docs" / "tutorial" / "petri.md"
CHARACTER = 5.0
"""Width of a character of an arc's label in a common font."""
Rectangle = tuple[float, float, float, float]
"""Left, top, right, bottom."""


def _texts(svg: str) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize("order", ["in", "out"])
def test_every_page_shows_its_places_and_transitions(order: str) -> None:
    net = vma_net(replace(PAPER, order=order))  # type: ignore[arg-type]
    for name, page in net.pages.items():
        texts = _texts(page_svg(net, name))
        for node in (*page.places, *page.transitions, *page.substitutions):
            assert node in texts
    get = {"in": "Get_Oldest_Msg", "out": "Get_Msg"}[order]
    assert get in _texts(page_svg(net, "Broker"))


def _tutorial_net() -> Net:
    block = re.search(r"```python\n(.*?)```", TUTORIAL.read_text(), re.DOTALL)
    assert block is not None
    names: dict[str, Any] = {}
    exec(block.group(1), names)
    net: Net = names["net"]
    return net


def _with_many_places() -> Net:
    """Thirty places and twenty transitions, joined at random."""
    draw = random.Random(5)
    net = Net("many")
    page = net.page("Main")
    for number in range(30):
        page.place(f"place{number}", initial=draw.randrange(2))
    for number in range(20):
        page.transition(f"transition{number}")
        before, after = (draw.sample(range(30), 2) for _ in range(2))
        for place in before:
            page.arc(f"place{place}", f"transition{number}", weight=draw.randint(1, 3))
        for place in after:
            page.arc(f"transition{number}", f"place{place}")
    return net


def _with_a_box_in_the_way() -> Net:
    """The author placed the nodes in one row, so that two arcs would lie under other nodes."""
    net = Net("row")
    page = net.page("Main")
    for number, name in enumerate(("a", "b", "c")):
        page.place(name, position=(number * 400.0, 0.0))
    page.transition("first", position=(200.0, 0.0))
    page.transition("last", position=(600.0, 0.0))
    for source, target in (("a", "first"), ("first", "b"), ("a", "last"), ("last", "a")):
        page.arc(source, target, weight=12)
    page.arc("last", "c")
    return net


def _boxes(drawn: ElementTree.Element) -> list[Rectangle]:
    found = []
    for node in drawn.iter(f"{SVG}ellipse"):
        x, y, width, height = (float(node.attrib[key]) for key in ("cx", "cy", "rx", "ry"))
        found.append((x - width, y - height, x + width, y + height))
    for node in drawn.iter(f"{SVG}rect"):
        if node.get("class") == "transition":
            x, y, width, height = (float(node.attrib[k]) for k in ("x", "y", "width", "height"))
            found.append((x, y, x + width, y + height))
    return found


def _points(path: str) -> list[tuple[float, float]]:
    """Points of a path of lines and quadratic curves, close to each other."""
    parts = re.findall(r"([MLQ])([^MLQ]*)", path)
    found: list[tuple[float, float]] = []
    for kind, text in parts:
        values = [float(value) for value in text.split()]
        ends = list(zip(values[::2], values[1::2], strict=True))
        start = found[-1] if found else ends[0]
        for step in range(1, 51):
            share = step / 50
            steps = [start, *ends] if kind != "M" else ends
            while len(steps) > 1:
                steps = [
                    (x + share * (to_x - x), y + share * (to_y - y))
                    for (x, y), (to_x, to_y) in pairwise(steps)
                ]
            found.append(steps[0])
    return found


def _inside(point: tuple[float, float], box: Rectangle, margin: float = 0.0) -> bool:
    left, top, right, bottom = box
    x, y = point
    return left - margin < x < right + margin and top - margin < y < bottom + margin


DRAWN = [
    (_tutorial_net(), "Shop"),
    *(
        (vma_net(replace(PAPER, failure="timer", visibility_timeout=30.0)), page)
        for page in vma_net().pages
    ),
    (nets.kanban(2), "Main"),
    (nets.fms(2), "Main"),
    (nets.simple_protocol(2, 1), "Main"),
    (_with_many_places(), "Main"),
    (_with_a_box_in_the_way(), "Main"),
]


@pytest.mark.parametrize(("net", "page"), DRAWN, ids=lambda value: getattr(value, "name", value))
def test_arc_touches_no_node_but_its_ends(net: Net, page: str) -> None:
    drawn = ElementTree.fromstring(page_svg(net, page))
    boxes = _boxes(drawn)
    arcs = [_points(node.attrib["d"]) for node in drawn.iter(f"{SVG}path") if node.get("class")]
    assert len(arcs) >= len({arc.ends for arc in net.pages[page].arcs})
    for arc in arcs:
        others = [
            box for box in boxes if not any(_inside(end, box, 2) for end in (arc[0], arc[-1]))
        ]
        assert len(others) < len(boxes)
        assert not [point for point in arc for box in others if _inside(point, box)]


@pytest.mark.parametrize(("net", "page"), DRAWN, ids=lambda value: getattr(value, "name", value))
def test_label_of_an_arc_covers_no_node_and_no_other_label(net: Net, page: str) -> None:
    drawn = ElementTree.fromstring(page_svg(net, page))
    labels: list[Rectangle] = []
    for node in drawn.iter(f"{SVG}text"):
        if node.get("class") == "inscription":
            x, y, half = float(node.attrib["x"]), float(node.attrib["y"]), len(node.text or "")
            labels.append((x - half * CHARACTER / 2, y - 7, x + half * CHARACTER / 2, y + 2))
    for number, label in enumerate(labels):
        for other in (*_boxes(drawn), *labels[:number]):
            apart = label[2] <= other[0] or other[2] <= label[0]
            assert apart or label[3] <= other[1] or other[3] <= label[1]


def test_drawing_shows_the_tokens_of_a_marking() -> None:
    net = nets.coloured_philosophers(3)
    simulation = Simulation(net, seed=1)
    simulation.run(steps=1)
    drawn = ElementTree.fromstring(page_svg(net, "Main", markings=simulation.markings()))
    held = {
        group.get("data-place"): [node.text for node in group.iter(f"{SVG}text")]
        for group in drawn.iter(f"{SVG}g")
        if group.get("class") == "held"
    }
    (who,) = simulation.marking("Wait")
    assert held["Wait"] == ["1", f"1`{who}"]
    assert held["Think"][0] == "2"


def test_drawing_of_an_unknown_page_is_refused() -> None:
    with pytest.raises(NetInvalid, match="no page is named 'Nope'"):
        page_svg(nets.kanban(1), "Nope")


def test_no_two_nodes_have_the_same_position() -> None:
    for net in (vma_net(), nets.kanban(2), nets.fms(2), nets.token_ring(4)):
        for page in net.pages.values():
            found = positions(net, page)
            assert len(set(found.values())) == len(found)


def test_position_that_is_given_is_kept() -> None:
    net = Net("placed")
    page = net.page("Main")
    page.place("a", position=(5.0, 7.0))
    page.transition("t")
    page.arc("a", "t")
    assert positions(net, page)["a"] == (5.0, 7.0)
    page_all = Net("all").page("Main")
    page_all.place("a", position=(1.0, 2.0))
    assert positions(net, page_all) == {"a": (1.0, 2.0)}


def test_tree_of_pages_names_each_page_and_its_substitution() -> None:
    texts = _texts(hierarchy_svg(vma_net()))
    assert {"System", "Cloud_Queue", "Visibility_Timeout", "cloud_queue"} <= set(texts)
    paths = [each.path for each in instances(vma_net()) if each.page.name == "Broker"]
    assert paths == ["cloud_queue.Broker"]


def _data(html: str) -> dict[str, object]:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    data: dict[str, object] = json.loads(found.group(1))
    return data


def test_player_replays_the_recorded_run() -> None:
    net = nets.simple_protocol(2, 1)
    recording = record(net, steps=200, seed=2)
    simulation = Simulation(net, seed=2, traced=True)
    marking = {place.name: place.initial for place in recording.net.places}
    for frame in recording.frames:
        assert simulation.step() == frame.event
        for name, (size, _) in frame.held.items():
            marking[name] = simulation.marking(name)
            assert marking[name].size == size
        assert marking == simulation.markings()
    data = _data(player_html(recording))
    frames = data["frames"]
    assert isinstance(frames, list)
    assert len(frames) == len(recording.frames)


def test_no_token_can_break_out_of_the_player() -> None:
    net = Net("<b>evil</b>")
    net.colour("Text", String())
    net.variable("s", "Text")
    page = net.page("Main")
    page.place("a", "Text", initial="'</script><script>alert(1)</script>'")
    page.place("b", "Text")
    page.transition("t")
    page.arc("a", "t", "s")
    page.arc("t", "b", "s")
    html = player_html(record(net, steps=5))
    assert "<script>alert" not in html
    assert "<b>evil" not in html
    assert len(re.findall(r"<script", html)) == 2
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", html)
    assert ElementTree.fromstring(page_svg(net, "Main")) is not None


def test_recording_ends_when_nothing_can_fire() -> None:
    recording = record(nets.simple_protocol(1, 1), steps=10_000, seed=1)
    assert len(recording.frames) < 10_000
    with pytest.raises(ValueError, match="between 1 and"):
        record(nets.kanban(1), steps=0)
