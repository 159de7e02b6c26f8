"""Hierarchical timed coloured Petri nets, built in Python or read from files, run and explored.

    from dovemq.models.petri import Int, Net, Simulation, state_space

    net = Net("counter")
    net.colour("Number", Int())
    net.variable("n", "Number")
    page = net.page("Main")
    page.place("Count", "Number", initial="0")
    page.transition("Step", guard="n < 10")
    page.flow("Count", "Step", "n", "n + 1")
    Simulation(net, seed=1).run()
    state_space(net).dead_markings()

A net is checked when it is first used. Each error names the net, page, transition and arc.
`vma` is the net of the vma paper.
"""

from dovemq.models.petri.checking import CheckedNet, checked
from dovemq.models.petri.colours import (
    Bool,
    Colour,
    Enum,
    Int,
    List,
    Product,
    Real,
    Record,
    String,
    Unit,
)
from dovemq.models.petri.drawing import hierarchy_svg, page_svg
from dovemq.models.petri.errors import NetError, NetFailed, NetInvalid, NetTooLarge
from dovemq.models.petri.invariants import (
    Invariant,
    place_basis,
    semi_positive,
    transition_basis,
)
from dovemq.models.petri.monitors import (
    Breakpoint,
    Collector,
    Count,
    FunctionCollector,
    ListLength,
    MarkingSize,
    Monitor,
    TimeAverage,
)
from dovemq.models.petri.multisets import Multiset
from dovemq.models.petri.netfiles import read_net, write_net
from dovemq.models.petri.nets import Net, Page
from dovemq.models.petri.player import Recording, player_html, record
from dovemq.models.petri.pnml import read_pnml, write_pnml
from dovemq.models.petri.runs import Laboratory, NetReport, Replication
from dovemq.models.petri.simulation import Firing, RunEnd, Simulation
from dovemq.models.petri.statespace import Limits, StateSpace, state_space
from dovemq.models.petri.unfolding import unfolded

__all__ = [
    "Bool",
    "Breakpoint",
    "CheckedNet",
    "Collector",
    "Colour",
    "Count",
    "Enum",
    "Firing",
    "FunctionCollector",
    "Int",
    "Invariant",
    "Laboratory",
    "Limits",
    "List",
    "ListLength",
    "MarkingSize",
    "Monitor",
    "Multiset",
    "Net",
    "NetError",
    "NetFailed",
    "NetInvalid",
    "NetReport",
    "NetTooLarge",
    "Page",
    "Product",
    "Real",
    "Record",
    "Recording",
    "Replication",
    "RunEnd",
    "Simulation",
    "StateSpace",
    "String",
    "TimeAverage",
    "Unit",
    "checked",
    "hierarchy_svg",
    "page_svg",
    "place_basis",
    "player_html",
    "read_net",
    "read_pnml",
    "record",
    "semi_positive",
    "state_space",
    "transition_basis",
    "unfolded",
    "write_net",
    "write_pnml",
]
