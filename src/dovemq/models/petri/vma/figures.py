"""Drawings for figures 3 to 10 of the vma paper: the tree of pages, and each page."""

from dataclasses import dataclass, replace

from dovemq.models.petri.drawing import hierarchy_svg, page_svg
from dovemq.models.petri.nets import Net
from dovemq.models.petri.vma.pages import vma_net
from dovemq.models.vma.parameters import PAPER, Order

_PAGES: tuple[tuple[int, str, str, Order], ...] = (
    (4, "Layer 1: the system", "System", "out"),
    (5, "Layer 2: the cloud queue", "Cloud_Queue", "out"),
    (6, "Send_Proc", "Send_Proc", "out"),
    (7, "Broker, out of order", "Broker", "out"),
    (8, "Recv_Proc", "Recv_Proc", "out"),
    (9, "Visibility_Timeout", "Visibility_Timeout", "out"),
    (10, "Broker, in order", "Broker", "in"),
)


@dataclass(frozen=True, slots=True)
class PageFigure:
    """A drawing. `page` is empty if it shows the tree of pages."""

    title: str
    net: Net
    page: str
    svg: str


def page_figures() -> dict[int, PageFigure]:
    """The drawings by the number of the figure in the paper."""
    tree = vma_net()
    found = {3: PageFigure("The hierarchy of pages", tree, "", hierarchy_svg(tree))}
    for figure, title, page, order in _PAGES:
        net = vma_net(replace(PAPER, order=order, failure="timer", visibility_timeout=30.0))
        found[figure] = PageFigure(title, net, page, page_svg(net, page))
    return found
