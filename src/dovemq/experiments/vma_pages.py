"""000-fig3 to 000-fig10: the pages of our net, drawn, beside what the text says of them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from dovemq.experiments.figure import Column, Drawing, Effort, Figure, Verdict
from dovemq.models.petri import Net, Page, write_net
from dovemq.models.petri.vma import page_figures, vma_net
from dovemq.models.vma.parameters import ORDERS, PAPER

TITLES: Final[Mapping[str, str]] = {
    "000-fig3": "the hierarchy of pages",
    "000-fig4": "the page System",
    "000-fig5": "the page Cloud_Queue",
    "000-fig6": "the page Send_Proc",
    "000-fig7": "the page Broker, out of order",
    "000-fig8": "the page Recv_Proc",
    "000-fig9": "the page Visibility_Timeout",
    "000-fig10": "the page Broker, in order",
}
_PICTURES_ARE_MISSING: Final = (
    "The pictures of the paper are not in its text: places and transitions that the text does not "
    "name are a reading."
)


def page_figure(name: str, effort: Effort) -> Figure:
    """Takes no effort."""
    found = page_figures()[int(name.partition("-fig")[2])]
    pages = [found.net.pages[found.page]] if found.page else list(found.net.pages.values())
    return Figure(
        f"{found.title} (000, fig. {name.removeprefix('000-fig')})",
        _nodes(pages),
        verdicts=_VERDICTS[name](found.net) if name in _VERDICTS else (),
        readings=(_PICTURES_ARE_MISSING,),
        drawings=(Drawing("page", found.svg),),
    )


def _nodes(pages: list[Page]) -> dict[str, Column]:
    rows = [
        row
        for page in pages
        for row in (
            *((page.name, "place", each.name, each.colour) for each in page.places.values()),
            *(
                (page.name, "transition", each.name, each.guard)
                for each in page.transitions.values()
            ),
            *(
                (page.name, "substitution", each.name, each.page)
                for each in page.substitutions.values()
            ),
        )
    ]
    names = ("page", "kind", "name", "colour_guard_or_page")
    return {name: [row[at] for row in rows] for at, name in enumerate(names)}


def _levels(net: Net) -> tuple[Verdict, ...]:
    def depth(page: str) -> int:
        below = net.pages[page].substitutions.values()
        return 1 + max((depth(each.page) for each in below), default=0)

    levels = depth(net.root_page)
    return (
        Verdict(
            "the hierarchy has three levels",
            levels == 3,
            f"{levels}, counting Visibility_Timeout below Broker",
        ),
    )


def _size_of_send_proc(net: Net) -> tuple[Verdict, ...]:
    page = net.pages["Send_Proc"]
    places, transitions = len(page.places), len(page.transitions)
    return (
        Verdict(
            "Send_Proc has 13 places and 7 transitions",
            (places, transitions) == (13, 7),
            f"ours does with {places} and {transitions}; the text names two places",
        ),
    )


def _only_broker_differs(net: Net) -> tuple[Verdict, ...]:
    theirs, ours = (vma_net(replace(PAPER, order=order)) for order in ORDERS)
    differing = [name for name in ours.pages if _text(ours, name) != _text(theirs, name)]
    return (
        Verdict(
            "only Broker differs between the orders",
            differing == ["Broker"],
            f"ours differ in {', '.join(differing)}: Queue_Index stands for Msg_Vis, and Enqueue "
            "adds no id to it",
        ),
    )


def _text(net: Net, page: str) -> str:
    alone = Net("alone")
    alone.pages = {page: net.pages[page]}
    return write_net(alone)


_VERDICTS: Final = {
    "000-fig3": _levels,
    "000-fig6": _size_of_send_proc,
    "000-fig10": _only_broker_differs,
}
