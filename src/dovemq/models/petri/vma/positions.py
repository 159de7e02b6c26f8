"""Where the nodes of the VMA net stand in drawings; a page without an entry is laid out."""

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from dovemq.models.petri.nets import Net

INDEX: Final = "index"
"""Msg_Vis or Queue_Index, and Get_Msg or Get_Oldest_Msg as `get`."""
GET: Final = "get"

Points = Mapping[str, tuple[float, float]]
POSITIONS: Final[Mapping[str, Points]] = {
    "Cloud_Queue": {
        "Sender": (100, 130), "Send_Proc": (320, 130), "Queue": (550, 60), INDEX: (550, 200),
        "Broker": (790, 130), "Outgoing": (1010, 60), "Delete_Req": (1010, 200),
        "Recv_Proc": (1230, 130), "Receiver": (1440, 130),
    },
    "Broker": {
        "Queue": (100, 70), INDEX: (100, 210), GET: (370, 140), "Threads": (740, 30),
        "Processing": (740, 140), "Send": (990, 140), "Outgoing": (1210, 140),
        "Timer": (370, 280), "Invisible": (740, 280), "Visibility_Timeout": (370, 420),
        "Delete_Req": (990, 420),
    },
    "Visibility_Timeout": {
        "Delete_Req": (100, 70), "Cancel": (340, 70), "Queue": (640, 70), "Timer": (100, 330),
        "Trigger": (340, 330), INDEX: (640, 330), "Invisible": (640, 200),
    },
}  # fmt: skip


def put_in_place(net: Net, *, index: str, get: str) -> None:
    names = {INDEX: index, GET: get}
    for page_name, points in POSITIONS.items():
        page = net.pages[page_name]
        for node, point in points.items():
            name = names.get(node, node)
            if name in page.places:
                page.places[name] = replace(page.places[name], position=point)
            elif name in page.transitions:
                page.transitions[name] = replace(page.transitions[name], position=point)
            else:
                page.substitutions[name] = replace(page.substitutions[name], position=point)
