"""Colour sets, variables and functions of the VMA net (vma: Tables 1, 2, Algorithms 1 to 4)."""

from dovemq.models.petri.colours import Bool, Enum, Int, List, Product, Real, Record, Unit
from dovemq.models.petri.nets import Net
from dovemq.models.petri.vma.parameters import MessageClass, Service, VmaParameters


def declare(net: Net, given: VmaParameters) -> None:
    _colours(net, tuple(each.name for each in given.classes))
    net.variable("n i", "INT")
    net.variable("gap recvtime", "INT")
    net.variable("u", "REAL")
    net.variable("t", "Thread")
    net.variable("s", "Sender")
    net.variable("c", "MsgContent")
    net.variable("m", "Msg")
    net.variable("msgs q", "Msgs")
    net.variable("v", "Visibility")
    net.variable("vis inv", "LIdxVis")
    net.variable("ok", "BOOL")
    net.constant("arrivals_per_ms", given.arrival_rate / 1_000)
    net.constant("n1", given.sender_threads)
    net.constant("n2", given.broker_threads)
    net.constant("reliability", given.reliability)
    net.constant("timer", given.mode == "timer")
    net.constant("visibility_ms", given.visibility_ms)
    net.constant("link_ms", given.link_ms)
    _functions(net, given)


def _colours(net: Net, classes: tuple[str, ...]) -> None:
    whole = net.colour("INT", Int())
    net.colour("BOOL", Bool())
    net.colour("REAL", Real())
    net.colour("UNIT", Unit(timed=True))
    net.colour("MsgTimeout", Int(timed=True))
    net.colour("Sender", Enum(names=("sender",)))
    thread = net.colour("Thread", Enum(names=("thread",)))
    content = net.colour("MsgContent", Enum(names=classes))
    visibility = net.colour("Visibility", Enum(names=("visible", "invisible")))
    fields = {"id": whole, "msgContent": content, "AT": whole, "IT": whole, "OT": whole}
    message = net.colour("Msg", Record(fields=tuple(fields.items())))
    net.colour("MsgTimed", message.with_time())
    net.colour("Msgs", List(message))
    net.colour("ThreadxMsg", Product((thread, message), timed=True))
    net.colour("MsgxTime", Product((message, whole)))
    net.colour("MsgxOk", Product((message, net.colours["BOOL"])))
    index = net.colour("IdxVis", Product((whole, visibility)))
    net.colour("LIdxVis", List(index))


def _functions(net: Net, given: VmaParameters) -> None:
    messages = {"msgs": "Msgs", "index": "INT"}
    net.function("ifMsgArrived", messages, "any(x.id == index for x in msgs)")
    net.function("getIndexMsg", messages, "[x for x in msgs if x.id == index][0]")
    net.function("deleteMsg", messages, "[x for x in msgs if x.id != index]")
    listed = {"listed": "LIdxVis", "index": "INT"}
    net.function("listsub", listed, "[x for x in listed if x[0] != index]")
    net.function("isIn", listed, "any(x[0] == index for x in listed)")
    services = (("sendTime", given.send, "send"), ("brokerTime", given.broker, "broker"))
    for name, usual, stage in services:
        body = _by_class(given.used_classes, usual, stage)
        net.function(name, {"content": "MsgContent"}, f"round({body})")
    _placing(net, given)


def _by_class(classes: tuple[MessageClass, ...], usual: Service, stage: str) -> str:
    """The expression of a service time, by message class where classes differ."""
    text = usual.expression
    for each in reversed(classes):
        own: Service | None = getattr(each, stage)
        if own is not None and own != usual:
            text = f"{own.expression} if content == {each.name!r} else ({text})"
    return text


def _placing(net: Net, given: VmaParameters) -> None:
    """Declares where a message enters a queue: at the end, or behind others of its priority."""
    if not given.prioritised:
        net.function("placed", {"q": "Msgs", "m": "Msg"}, "[*q, m]")
        shown = {"vis": "LIdxVis", "msgs": "Msgs", "m": "Msg"}
        net.function("shown", shown, "[*vis, (m.id, 'visible')]")
        again = {"vis": "LIdxVis", "msgs": "Msgs", "index": "INT"}
        net.function("shownAgain", again, "[(index, 'visible'), *vis]")
        return
    rank = "0"
    for each in reversed(given.used_classes):
        rank = f"{each.priority} if content == {each.name!r} else ({rank})"
    net.function("rank", {"content": "MsgContent"}, rank)
    rank_of = "rank(getIndexMsg(msgs, index).msgContent)"
    net.function("rankOf", {"msgs": "Msgs", "index": "INT"}, rank_of)
    ahead = "rank(x.msgContent) <= rank(m.msgContent)"
    body = f"[*[x for x in q if {ahead}], m, *[x for x in q if not {ahead}]]"
    net.function("placed", {"q": "Msgs", "m": "Msg"}, body)
    ahead = "rankOf(msgs, x[0]) <= rank(m.msgContent)"
    net.function(
        "shown",
        {"vis": "LIdxVis", "msgs": "Msgs", "m": "Msg"},
        f"[*[x for x in vis if {ahead}], (m.id, 'visible'), *[x for x in vis if not {ahead}]]",
    )
    ahead = "rankOf(msgs, x[0]) < rankOf(msgs, index)"
    net.function(
        "shownAgain",
        {"vis": "LIdxVis", "msgs": "Msgs", "index": "INT"},
        f"[*[x for x in vis if {ahead}], (index, 'visible'), *[x for x in vis if not {ahead}]]",
    )
