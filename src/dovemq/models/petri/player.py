"""A recorded run as one HTML file that any browser plays without a network.

The script of the page is in `player.html`. Data and drawings are escaped, so that no name or token
can end the script.
"""

import json
from dataclasses import asdict, dataclass
from html import escape
from importlib import resources
from typing import Final

from dovemq.models.petri.checking import CheckedNet, checked
from dovemq.models.petri.drawing import page_svg, tokens_text
from dovemq.models.petri.firing import compiled
from dovemq.models.petri.hierarchy import instances
from dovemq.models.petri.layout import short
from dovemq.models.petri.nets import Net
from dovemq.models.petri.simulation import Firing, Simulation

STEPS_MAX: Final = 100_000
BINDING_LENGTH_MAX: Final = 400


@dataclass(frozen=True, slots=True)
class PlayerFrame:
    """One firing, and the tokens of the places that it touched afterwards: (count, text)."""

    event: Firing
    held: dict[str, tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Recording:
    net: CheckedNet
    seed: int | str
    frames: tuple[PlayerFrame, ...]


def record(net: Net | CheckedNet, *, steps: int, seed: int | str = 0) -> Recording:
    if not 1 <= steps <= STEPS_MAX:
        raise ValueError(f"a recording has between 1 and {STEPS_MAX} steps, not {steps}")
    whole = checked(net)
    simulation = Simulation(compiled(whole, traced=True), seed=seed)
    near = {each.name: each.touched for each in whole.transitions}
    frames = []
    for _ in range(steps):
        event = simulation.step()
        if event is None:
            break
        names = [whole.places[place].name for place in near[event.transition]]
        held = {name: simulation.marking(name) for name in names}
        texts = {name: (each.size, tokens_text(each)) for name, each in held.items()}
        frames.append(PlayerFrame(event, texts))
    return Recording(whole, seed, tuple(frames))


def player_html(recording: Recording) -> str:
    """Returns the HTML document."""
    net = recording.net
    data = {
        "pages": [
            {"name": f"{name} ({path})" if path else name, "svg": page_svg(net, name, path=path)}
            for name, path in ((each.page.name, each.path) for each in instances(net.net))
        ],
        "initial": {
            place.name: (place.initial.size, tokens_text(place.initial)) for place in net.places
        },
        "frames": [
            {**asdict(each.event), "binding": _binding_text(each.event), "held": each.held}
            for each in recording.frames
        ],
    }
    text = resources.files("dovemq.models.petri").joinpath("player.html").read_text()
    safe = json.dumps(data, ensure_ascii=True).replace("<", "\\u003c").replace(">", "\\u003e")
    return text.replace("@@TITLE@@", escape(net.name)).replace("@@DATA@@", safe)


def _binding_text(event: Firing) -> str:
    parts = (f"{name} = {value!r}" for name, value in event.binding.items())
    return short(", ".join(parts), BINDING_LENGTH_MAX)
