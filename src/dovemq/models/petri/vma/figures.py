"""Figures 3 to 10 of 000 as our net has them: the tree of pages, and the pages."""

from dataclasses import dataclass

from dovemq.models.petri.drawing import hierarchy_svg, page_svg
from dovemq.models.petri.nets import Net
from dovemq.models.petri.vma.pages import vma_net
from dovemq.models.petri.vma.parameters import Order, VmaParameters

_PAGES: tuple[tuple[str, str, str, Order], ...] = (
    ("vma-fig4", "Layer 1: the system", "System", "out"),
    ("vma-fig5", "Layer 2: the cloud queue", "Cloud_Queue", "out"),
    ("vma-fig6", "Send_Proc", "Send_Proc", "out"),
    ("vma-fig7", "Broker, out of order", "Broker", "out"),
    ("vma-fig8", "Recv_Proc", "Recv_Proc", "out"),
    ("vma-fig9", "Visibility_Timeout", "Visibility_Timeout", "out"),
    ("vma-fig10", "Broker, in order", "Broker", "in"),
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
    found = {"vma-fig3": PageFigure("The hierarchy of pages", tree, "", hierarchy_svg(tree))}
    for figure, title, page, order in _PAGES:
        net = vma_net(VmaParameters(order=order, mode="timer"))
        found[figure] = PageFigure(title, net, page, page_svg(net, page))
    return found
