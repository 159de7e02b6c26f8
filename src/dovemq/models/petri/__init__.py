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

from dovemq.models.petri.checking import CheckedNet as CheckedNet
from dovemq.models.petri.checking import checked as checked
from dovemq.models.petri.colours import Bool as Bool
from dovemq.models.petri.colours import Colour as Colour
from dovemq.models.petri.colours import Enum as Enum
from dovemq.models.petri.colours import Int as Int
from dovemq.models.petri.colours import List as List
from dovemq.models.petri.colours import Product as Product
from dovemq.models.petri.colours import Real as Real
from dovemq.models.petri.colours import Record as Record
from dovemq.models.petri.colours import String as String
from dovemq.models.petri.colours import Unit as Unit
from dovemq.models.petri.drawing import hierarchy_svg as hierarchy_svg
from dovemq.models.petri.drawing import page_svg as page_svg
from dovemq.models.petri.errors import NetError as NetError
from dovemq.models.petri.errors import NetFailed as NetFailed
from dovemq.models.petri.errors import NetInvalid as NetInvalid
from dovemq.models.petri.errors import NetTooLarge as NetTooLarge
from dovemq.models.petri.invariants import Invariant as Invariant
from dovemq.models.petri.invariants import place_basis as place_basis
from dovemq.models.petri.invariants import semi_positive as semi_positive
from dovemq.models.petri.invariants import transition_basis as transition_basis
from dovemq.models.petri.monitors import Breakpoint as Breakpoint
from dovemq.models.petri.monitors import Collector as Collector
from dovemq.models.petri.monitors import Count as Count
from dovemq.models.petri.monitors import FunctionCollector as FunctionCollector
from dovemq.models.petri.monitors import ListLength as ListLength
from dovemq.models.petri.monitors import MarkingSize as MarkingSize
from dovemq.models.petri.monitors import Monitor as Monitor
from dovemq.models.petri.monitors import TimeAverage as TimeAverage
from dovemq.models.petri.multisets import Multiset as Multiset
from dovemq.models.petri.netfiles import read_net as read_net
from dovemq.models.petri.netfiles import write_net as write_net
from dovemq.models.petri.nets import Net as Net
from dovemq.models.petri.nets import Page as Page
from dovemq.models.petri.player import Recording as Recording
from dovemq.models.petri.player import player_html as player_html
from dovemq.models.petri.player import record as record
from dovemq.models.petri.pnml import read_pnml as read_pnml
from dovemq.models.petri.pnml import write_pnml as write_pnml
from dovemq.models.petri.runs import Laboratory as Laboratory
from dovemq.models.petri.runs import NetReport as NetReport
from dovemq.models.petri.runs import Replication as Replication
from dovemq.models.petri.simulation import Firing as Firing
from dovemq.models.petri.simulation import RunEnd as RunEnd
from dovemq.models.petri.simulation import Simulation as Simulation
from dovemq.models.petri.statespace import Limits as Limits
from dovemq.models.petri.statespace import StateSpace as StateSpace
from dovemq.models.petri.statespace import state_space as state_space
from dovemq.models.petri.unfolding import unfolded as unfolded
