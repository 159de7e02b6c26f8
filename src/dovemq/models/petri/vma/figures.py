"""Figures 3 to 10 of 000 as our net has them: the tree of pages, and the pages."""

from dovemq.models.petri.drawing import hierarchy_svg, page_svg
from dovemq.models.petri.vma.pages import vma_net
from dovemq.models.petri.vma.parameters import Order, VmaParameters

_PAGES: tuple[tuple[str, str, str, Order], ...] = (
    ("000-fig4", "Layer 1: the system", "System", "out"),
    ("000-fig5", "Layer 2: the cloud queue", "Cloud_Queue", "out"),
    ("000-fig6", "Send_Proc", "Send_Proc", "out"),
    ("000-fig7", "Broker, out of order", "Broker", "out"),
    ("000-fig8", "Recv_Proc", "Recv_Proc", "out"),
    ("000-fig9", "Visibility_Timeout", "Visibility_Timeout", "out"),
    ("000-fig10", "Broker, in order", "Broker", "in"),
)


def page_figures() -> dict[str, tuple[str, str]]:
    """Figure → (title, SVG)."""
    found = {"000-fig3": ("The hierarchy of pages", hierarchy_svg(vma_net()))}
    for figure, title, page, order in _PAGES:
        net = vma_net(VmaParameters(order=order, mode="timer"))
        found[figure] = (title, page_svg(net, page))
    return found
