"""The VMA net page by page (vma, Figures 4 to 10), with assumptions where the paper has gaps.

    System ─ cloud_queue ─┬─ Send_Proc   messages are made, sent by n1 threads, enqueued
                          ├─ Broker      got by n2 threads and sent on; in order or not
                          │  └─ Visibility_Timeout   Cancel, Trigger
                          └─ Recv_Proc   delivered and acknowledged, or lost

Assumptions: `triggerTimer` prepends (`::`); an acknowledgement also removes a message that has
become visible again; in ideal mode the loss starts a timer that ends at once; in order, Queue_Index
holds the ids that became visible again, followed by the next id to start.

Without a link delay, a thread is free and its message is acknowledged at the same instant. The
acknowledgement comes first, then a timeout or a loss makes messages visible again, then the freed
thread takes the next message. The paper gives no order. In the opposite order a thread could take
the message again that it has just delivered. The simulation kernel has the same order.
"""

from dovemq.models.distributions import Exponential
from dovemq.models.petri.colours import Int
from dovemq.models.petri.errors import NetInvalid, Where
from dovemq.models.petri.nets import Net, Page
from dovemq.models.petri.vma.declarations import declare, in_ticks, prioritised
from dovemq.models.petri.vma.ticks import ticks_per_second
from dovemq.models.vma.parameters import PAPER, VmaParameters

TIMER = "Timer"
URGENT = 0
"""The priority of an acknowledgement and of a loss, which come before all else at their time."""
SOON = 50
"""The priority of a timeout, which comes before a thread takes the next message."""


def vma_net(given: VmaParameters = PAPER) -> Net:
    given.check_simulable()
    if given.order == "in" and prioritised(given):
        raise NetInvalid(
            Where("VMA", part="classes"), "classes of several priorities need order out"
        )
    net = Net("VMA", time=Int(0), root="System")
    ticks = ticks_per_second(given)
    declare(net, given, ticks)
    _system(net.page("System"))
    _cloud_queue(net.page("Cloud_Queue"), in_order=given.order == "in")
    _send_proc(net.page("Send_Proc"), given, ticks)
    _broker(net.page("Broker"), in_order=given.order == "in")
    _visibility_timeout(net.page("Visibility_Timeout"), in_order=given.order == "in")
    _recv_proc(net.page("Recv_Proc"))
    return net


def _index_place(in_order: bool) -> str:
    return "Queue_Index" if in_order else "Msg_Vis"


def _system(page: Page) -> None:
    page.place("Sender", "Sender", initial="'sender'")
    page.place("Receiver", "MsgxTime")
    page.substitution("cloud_queue", "Cloud_Queue", {"Sender": "Sender", "Receiver": "Receiver"})


def _cloud_queue(page: Page, *, in_order: bool) -> None:
    index = _index_place(in_order)
    page.place("Sender", "Sender", port="io")
    page.place("Receiver", "MsgxTime", port="out")
    page.place("Queue", "Msgs", initial="[]")
    page.place(index, "LIdxVis", initial="[(1, 'visible')]" if in_order else "[]")
    page.place("Delete_Req", "Msg")
    page.place("Outgoing", "MsgTimed")
    sockets = {"Sender": "Sender", "Queue": "Queue", "Msg_Vis": index}
    page.substitution("Send_Proc", "Send_Proc", sockets)
    inner = {name: name for name in ("Queue", index, "Outgoing", "Delete_Req")}
    page.substitution("Broker", "Broker", inner)
    ends = {name: name for name in ("Outgoing", "Receiver", "Delete_Req")}
    page.substitution("Recv_Proc", "Recv_Proc", ends)


def _send_proc(page: Page, given: VmaParameters, ticks: int) -> None:
    page.place("Sender", "Sender", port="io")
    page.place("Next", "UNIT", initial="()")
    page.place("Msg_ID", "INT", initial="1")
    page.place("Send_Queue", "Msgs", initial="[]")
    page.place("Sender_Threads", "Thread", initial="times(n1, 'thread')")
    page.place("Sending", "ThreadxMsg")
    page.place("Network", "MsgTimed")
    page.place("Queue", "Msgs", port="io")
    page.place("Msg_Vis", "LIdxVis", port="io")
    _produce(page, given, ticks)
    page.transition("Start_Send")
    page.flow("Send_Queue", "Start_Send", "[m, *q]", "q")
    page.arc("Sender_Threads", "Start_Send", "t")
    page.arc("Start_Send", "Sending", "(t, m)", delay="sendTime(m.msgContent)")
    page.transition("End_Send")
    page.arc("Sending", "End_Send", "(t, m)")
    page.arc("End_Send", "Sender_Threads", "t")
    page.arc("End_Send", "Network", "m", delay="link_ticks")
    page.transition("Enqueue")
    page.arc("Network", "Enqueue", "m")
    page.flow("Queue", "Enqueue", "msgs", "[*msgs, replace(m, IT=now)]")
    # In order, the broker counts through the ids, so no index of messages is needed.
    shown = "vis" if given.order == "in" else "shown(vis, msgs, m)"
    page.flow("Msg_Vis", "Enqueue", "vis", shown)


def _produce(page: Page, given: VmaParameters, ticks: int) -> None:
    choice = repr(given.classes[-1].name)
    for place in range(len(given.classes) - 1, 0, -1):
        below = sum(each.share for each in given.classes[:place])
        choice = f"{given.classes[place - 1].name!r} if u < {below!r} else ({choice})"
    # An exponential time by its constant, so that a sweep can change it.
    known = isinstance(given.arrival_time, Exponential)
    gap = "exponential(arrivals_per_tick)" if known else in_ticks(given.arrival_time, ticks)
    code = {"gap": f"round({gap})"}
    if len(given.classes) > 1:
        code["u"] = "uniform(0, 1)"
    page.transition("Produce", code={**code, "c": choice})
    page.flow("Sender", "Produce", "s", "s")
    page.flow("Next", "Produce", "()", "()", delay="gap")
    page.flow("Msg_ID", "Produce", "n", "n + 1")
    made = "Msg(id=n, msgContent=c, AT=now, IT=0, OT=0)"
    page.flow("Send_Queue", "Produce", "q", f"placed(q, {made})")


def _broker(page: Page, *, in_order: bool) -> None:
    index, get = _index_place(in_order), "Get_Oldest_Msg" if in_order else "Get_Msg"
    page.place("Queue", "Msgs", port="io")
    page.place(index, "LIdxVis", port="io")
    page.place("Outgoing", "MsgTimed", port="out")
    page.place("Delete_Req", "Msg", port="in")
    page.place("Invisible", "LIdxVis", initial="[]")
    page.place("Timer", "MsgTimeout", fusion=TIMER)
    page.place("Threads", "Thread", initial="times(n2, 'thread')")
    page.place("Processing", "ThreadxMsg")
    arrived = "ifMsgArrived(msgs, i) and " if in_order else ""
    page.transition(get, guard=f"{arrived}m == getIndexMsg(msgs, i)")
    left = "vis if len(vis) > 0 else [(i + 1, 'visible')]" if in_order else "vis"
    page.flow(index, get, "[(i, v), *vis]", left)
    page.flow("Queue", get, "msgs", "msgs")
    page.flow("Invisible", get, "inv", "[(i, 'invisible'), *inv]")
    page.arc("Threads", get, "t")
    page.arc(get, "Timer", "tokens(i) if timer else none", delay="visibility_ticks")
    page.arc(get, "Processing", "(t, replace(m, OT=now))", delay="brokerTime(m.msgContent)")
    page.transition("Send")
    page.arc("Processing", "Send", "(t, m)")
    page.arc("Send", "Threads", "t")
    page.arc("Send", "Outgoing", "m", delay="link_ticks")
    sockets = {name: name for name in ("Queue", index, "Invisible", "Timer", "Delete_Req")}
    page.substitution("Visibility_Timeout", "Visibility_Timeout", sockets)


def _visibility_timeout(page: Page, *, in_order: bool) -> None:
    index = _index_place(in_order)
    page.place("Queue", "Msgs", port="io")
    page.place(index, "LIdxVis", port="io")
    page.place("Invisible", "LIdxVis", port="io")
    page.place("Timer", "MsgTimeout", port="in")
    page.place("Delete_Req", "Msg", port="in")
    page.transition("Cancel", priority=URGENT)
    page.arc("Delete_Req", "Cancel", "m")
    page.flow("Queue", "Cancel", "msgs", "deleteMsg(msgs, m.id)")
    page.flow("Invisible", "Cancel", "inv", "listsub(inv, m.id)")
    page.flow(index, "Cancel", "vis", "listsub(vis, m.id)")
    page.transition("Trigger", priority=SOON)
    page.arc("Timer", "Trigger", "i")
    page.flow("Queue", "Trigger", "msgs", "msgs")
    page.flow("Invisible", "Trigger", "inv", "listsub(inv, i)")
    page.flow(index, "Trigger", "vis", "shownAgain(vis, msgs, i) if isIn(inv, i) else vis")


def _recv_proc(page: Page) -> None:
    page.place("Outgoing", "MsgTimed", port="in")
    page.place("Receiver", "MsgxTime", port="out")
    page.place("Delete_Req", "Msg", port="out")
    page.place("Outcome", "MsgxOk")
    page.place("Known_Lost", "MsgTimeout", fusion=TIMER)
    page.transition("Arrive", code={"ok": "bernoulli(reliability)"}, priority=URGENT)
    page.arc("Outgoing", "Arrive", "m")
    page.arc("Arrive", "Outcome", "(m, ok)")
    page.transition("Deliver", code={"recvtime": "now"}, priority=URGENT)
    page.arc("Outcome", "Deliver", "(m, True)")
    page.arc("Deliver", "Receiver", "(m, recvtime)")
    page.arc("Deliver", "Delete_Req", "m")
    page.transition("Lose", priority=URGENT)
    page.arc("Outcome", "Lose", "(m, False)")
    page.arc("Lose", "Known_Lost", "none if timer else tokens(m.id)")
