"""vma-fig3 to vma-fig10: drawings of the pages of our net, and what the paper says about them."""

from collections.abc import Iterator, Mapping
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


NAMED: Final[Mapping[str, frozenset[str]]] = {
    "vma-fig4": frozenset(("Sender", "Receiver", "cloud_queue")),
    "vma-fig5": frozenset(("Send_Proc", "Broker", "Recv_Proc")),
    "vma-fig6": frozenset(("Msg_ID", "Msg_Vis")),
    "vma-fig7": frozenset(("Queue", "Msg_Vis", "Invisible", "Get_Msg", "Visibility_Timeout")),
    "vma-fig8": frozenset(("Deliver",)),
    "vma-fig9": frozenset(("Msg_Vis", "Invisible", "Timer", "Delete_Req", "Cancel", "Trigger")),
    "vma-fig10": frozenset(("Queue_Index", "Get_Oldest_Msg")),
}
"""The nodes of each page that the paper's text names."""


def page_figure(name: str, effort: Effort) -> Figure:
    """Draws a page or the hierarchy of all; `effort` changes nothing."""
    nets = paper_nets()
    net, pages = nets["out"], list(nets["out"].pages)
    if name != HIERARCHY:
        page, order = PAGES[name]
        net, pages = nets[order], [page]
    return Figure(
        f"{TITLES[name]} (vma, fig. {name.removeprefix('vma-fig')})",
        _nodes(net, pages),
        verdicts=tuple(page_claims(name, nets)),
        readings=(
            "Places and transitions that the paper's text does not name are our choice: its "
            "pictures were not available.",
        ),
        drawings={"page": hierarchy_svg(net) if name == HIERARCHY else page_svg(net, *pages)},
    )


def paper_nets() -> dict[Order, Net]:
    """The net of the paper for both orders of delivery, with timers."""
    scenario = replace(PAPER, failure="timer", visibility_timeout=30.0)
    return {order: vma_net(replace(scenario, order=order)) for order in ORDERS}


def page_claims(name: str, nets: Mapping[Order, Net]) -> Iterator[Verdict]:
    if name == HIERARCHY:
        yield _levels(nets["out"])
        return
    page, order = PAGES[name]
    yield _has_named(name, nets[order], page)
    if name == "vma-fig6":
        yield _size_of_send_proc(nets[order])
    if name == "vma-fig10":
        yield _guarded(nets[order])
        yield _only_broker_differs(nets)


def _has_named(name: str, net: Net, page: str) -> Verdict:
    missing = NAMED[name] - set(_nodes(net, [page])["name"])
    return Verdict(
        f"the page has what the text names: {', '.join(sorted(NAMED[name]))}",
        "all of them are on our page",
        not missing,
        f"missing: {', '.join(sorted(missing))}" if missing else "all",
    )


def _guarded(net: Net) -> Verdict:
    guard = {each.name: each.guard for each in net.pages["Broker"].transitions.values()}.get(
        "Get_Oldest_Msg", ""
    )
    return Verdict(
        "Get_Oldest_Msg waits by a guard until the next message has come",
        "a guard with ifMsgArrived",
        "ifMsgArrived" in guard,
        guard or "no guard",
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
        f"our page needs {places} and {transitions}",
    )


def _only_broker_differs(nets: Mapping[Order, Net]) -> Verdict:
    theirs, ours = nets["out"], nets["in"]
    differing = [name for name in ours.pages if _text(ours, name) != _text(theirs, name)]
    return Verdict(
        "only Broker differs between the orders",
        "all other pages are equal",
        differing == ["Broker"],
        f"our nets differ in {', '.join(differing) or 'no page'}",
    )


def _text(net: Net, page: str) -> str:
    alone = Net("alone")
    alone.pages = {page: net.pages[page]}
    return write_net(alone)
