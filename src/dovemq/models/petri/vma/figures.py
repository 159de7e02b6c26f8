"""Figures 3 to 10 of 000 as our net has them: the tree of pages, and the pages."""

from dataclasses import dataclass, replace

from dovemq.models.petri.drawing import hierarchy_svg, page_svg
from dovemq.models.petri.nets import Net
from dovemq.models.petri.vma.pages import vma_net
from dovemq.models.vma.parameters import PAPER, Order

_PAGES: tuple[tuple[str, str, str, Order], ...] = (
    ("000-fig4", "Layer 1: the system", "System", "out"),
    ("000-fig5", "Layer 2: the cloud queue", "Cloud_Queue", "out"),
    ("000-fig6", "Send_Proc", "Send_Proc", "out"),
    ("000-fig7", "Broker, out of order", "Broker", "out"),
    ("000-fig8", "Recv_Proc", "Recv_Proc", "out"),
    ("000-fig9", "Visibility_Timeout", "Visibility_Timeout", "out"),
    ("000-fig10", "Broker, in order", "Broker", "in"),
)


@dataclass(frozen=True, slots=True)
class PageFigure:
    """`page` is empty where all of them are meant."""

    title: str
    net: Net
    page: str
    svg: str


def page_figures() -> dict[str, PageFigure]:
    tree = vma_net()
    found = {"000-fig3": PageFigure("The hierarchy of pages", tree, "", hierarchy_svg(tree))}
    for figure, title, page, order in _PAGES:
        net = vma_net(replace(PAPER, order=order, failure="timer", visibility_timeout=30.0))
        found[figure] = PageFigure(title, net, page, page_svg(net, page))
    return found
