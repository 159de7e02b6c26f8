"""Drawings and players: well-formed, complete, closed to the outside."""

import json
import re
from dataclasses import replace
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
from dovemq.models.petri.drawing import instances
from dovemq.models.petri.layout import positions
from dovemq.models.petri.vma import vma_net
from dovemq.models.vma.parameters import PAPER

SVG = "{http://www.w3.org/2000/svg}"


def _texts(svg: str) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize("order", ["in", "out"])
def test_every_page_shows_its_places_and_transitions(order: str) -> None:
    net = vma_net(replace(PAPER, order=order))  # type: ignore[arg-type]
    for name, page in net.pages.items():
        texts = _texts(page_svg(net, name))
        for node in (*page.places, *page.transitions, *page.substitutions):
            assert node in texts
    assert "Get_Oldest_Msg" in _texts(page_svg(net, "Broker")) or order == "out"


def test_tokens_are_drawn_as_they_are() -> None:
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


def test_drawing_of_no_page_is_refused() -> None:
    with pytest.raises(NetInvalid, match="no page is named 'Nope'"):
        page_svg(nets.kanban(1), "Nope")


def test_no_two_nodes_stand_on_one_spot() -> None:
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


def test_tree_of_pages_names_each_page_and_the_transition_it_stands_for() -> None:
    texts = _texts(hierarchy_svg(vma_net()))
    assert {"System", "Cloud_Queue", "Visibility_Timeout", "cloud_queue"} <= set(texts)
    assert instances(vma_net())["Broker"] == ["cloud_queue.Broker"]


def _data(html: str) -> dict[str, object]:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    data: dict[str, object] = json.loads(found.group(1))
    return data


def test_player_holds_the_run_as_it_was() -> None:
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


def test_recording_stops_with_the_net() -> None:
    recording = record(nets.simple_protocol(1, 1), steps=10_000, seed=1)
    assert len(recording.frames) < 10_000
    with pytest.raises(ValueError, match="between 1 and"):
        record(nets.kanban(1), steps=0)
