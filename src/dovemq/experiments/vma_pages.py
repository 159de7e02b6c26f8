"""vma-fig3 to vma-fig10: drawings of the pages of our net, and what the paper says about them."""

from collections.abc import Mapping
from typing import Final

from dovemq.experiments.figure import Column, Drawing, Effort, Figure, Verdict
from dovemq.models.petri import Net, Page, write_net
from dovemq.models.petri.vma import VmaParameters, page_figures, vma_net

TITLES: Final[Mapping[str, str]] = {
    "vma-fig3": "the hierarchy of pages",
    "vma-fig4": "the page System",
    "vma-fig5": "the page Cloud_Queue",
    "vma-fig6": "the page Send_Proc",
    "vma-fig7": "the page Broker, out of order",
    "vma-fig8": "the page Recv_Proc",
    "vma-fig9": "the page Visibility_Timeout",
    "vma-fig10": "the page Broker, in order",
}
_PICTURES_ARE_MISSING: Final = (
    "Places and transitions that the paper's text does not name are our choice: its pictures were "
    "not available."
)


def page_figure(name: str, effort: Effort) -> Figure:
    """Draws a page; `effort` changes nothing."""
    found = page_figures()[name]
    pages = [found.net.pages[found.page]] if found.page else list(found.net.pages.values())
    return Figure(
        f"{found.title} (vma, fig. {name.removeprefix('vma-fig')})",
        _nodes(pages),
        verdicts=(_VERDICTS[name](found.net),) if name in _VERDICTS else (),
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


def _levels(net: Net) -> Verdict:
    def depth(page: str) -> int:
        below = net.pages[page].substitutions.values()
        return 1 + max((depth(each.page) for each in below), default=0)

    levels = depth(net.root_page)
    return Verdict(
        "the hierarchy has three levels",
        "the same number",
        levels == 3,
        f"{levels}, counting Visibility_Timeout below Broker",
    )


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
    ours, theirs = (vma_net(VmaParameters(order=order)) for order in ("in", "out"))
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
