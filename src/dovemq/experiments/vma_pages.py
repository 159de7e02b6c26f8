"""vma-fig3 to vma-fig10: drawings of the pages of our net, and what the paper says about them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from dovemq.experiments.claims import exact, judge
from dovemq.experiments.figure import Column, Effort, Figure, Verdict
from dovemq.models.petri import Net, hierarchy_svg, page_svg, write_net
from dovemq.models.petri.vma import vma_net
from dovemq.models.vma.parameters import ORDERS, PAPER, Order

HIERARCHY: Final = "vma-fig3"
PAGES: Final[Mapping[str, tuple[str, Order]]] = {
    "vma-fig4": ("System", "out"),
    "vma-fig5": ("Cloud_Queue", "out"),
    "vma-fig6": ("Send_Proc", "out"),
    "vma-fig7": ("Broker", "out"),
    "vma-fig8": ("Recv_Proc", "out"),
    "vma-fig9": ("Visibility_Timeout", "out"),
    "vma-fig10": ("Broker", "in"),
}
TITLES: Final[Mapping[str, str]] = {
    HIERARCHY: "hierarchy of pages",
    **{name: f"page {page}" for name, (page, _) in PAGES.items()},
    "vma-fig10": "page Broker, in order",
}


def page_figure(name: str, effort: Effort) -> Figure:
    """Draws a page or the hierarchy of all; `effort` changes nothing."""
    if name == HIERARCHY:
        net = vma_net()
        pages, svg = list(net.pages), hierarchy_svg(net)
    else:
        page, order = PAGES[name]
        net = vma_net(replace(PAPER, order=order, failure="timer", visibility_timeout=30.0))
        pages, svg = [page], page_svg(net, page)
    return Figure(
        f"{TITLES[name]} (vma, fig. {name.removeprefix('vma-fig')})",
        _nodes(net, pages),
        verdicts=(_VERDICTS[name](net),) if name in _VERDICTS else (),
        readings=(
            "Places and transitions that the paper's text does not name are our choice: its "
            "pictures were not available.",
        ),
        drawings={"page": svg},
    )


def _nodes(net: Net, pages: list[str]) -> dict[str, Column]:
    rows: list[tuple[str, str, str, str]] = []
    for name in pages:
        page = net.pages[name]
        rows += [(name, "place", each.name, each.colour) for each in page.places.values()]
        rows += [(name, "transition", each.name, each.guard) for each in page.transitions.values()]
        rows += [
            (name, "substitution", each.name, each.page) for each in page.substitutions.values()
        ]
    names = ("page", "kind", "name", "colour_guard_or_page")
    return {name: [row[at] for row in rows] for at, name in enumerate(names)}


def _levels(net: Net) -> Verdict:
    def depth(page: str) -> int:
        below = net.pages[page].substitutions.values()
        return 1 + max((depth(each.page) for each in below), default=0)

    quantity = "levels, counting Visibility_Timeout below Broker"
    return judge("the hierarchy has three levels", quantity, exact([depth(net.root_page)]), 3, 3)


def _size_of_send_proc(net: Net) -> Verdict:
    page = net.pages["Send_Proc"]
    places, transitions = len(page.places), len(page.transitions)
    return Verdict(
        "Send_Proc has 13 places and 7 transitions",
        "the same numbers",
        (places, transitions) == (13, 7),
        f"our page needs {places} and {transitions}; the text names two places",
    )


def _only_broker_differs(net: Net) -> Verdict:
    theirs, ours = (vma_net(replace(PAPER, order=order)) for order in ORDERS)
    differing = [name for name in ours.pages if _text(ours, name) != _text(theirs, name)]
    return Verdict(
        "only Broker differs between the orders",
        "all other pages are equal",
        differing == ["Broker"],
        f"our nets differ in {', '.join(differing)}: Queue_Index takes the place of Msg_Vis, and "
        "Enqueue adds no id to it",
    )


def _text(net: Net, page: str) -> str:
    alone = Net("alone")
    alone.pages = {page: net.pages[page]}
    return write_net(alone)


_VERDICTS: Final = {
    "vma-fig3": _levels,
    "vma-fig6": _size_of_send_proc,
    "vma-fig10": _only_broker_differs,
}
