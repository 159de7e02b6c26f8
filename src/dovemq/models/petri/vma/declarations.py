"""Colour sets, variables and functions of the `vma` net (Tables 1 and 2, Algorithms 1 to 4)."""

from dovemq.models.distributions import (
    Deterministic,
    Distribution,
    Empirical,
    Erlang,
    Exponential,
    Gamma,
    HyperExponential,
    LogNormal,
    Pareto,
    Weibull,
)
from dovemq.models.petri.colours import Bool, Enum, Int, List, Product, Real, Record, Unit
from dovemq.models.petri.nets import Net
from dovemq.models.vma.parameters import VmaParameters


def declare(net: Net, given: VmaParameters, ticks: int) -> None:
    """Declares the names of the net; a second has so many `ticks`."""
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
    net.constant("arrivals_per_tick", float(given.arrival_rate) / ticks)
    net.constant("n1", int(given.sender_threads))
    net.constant("n2", int(given.broker_threads))
    net.constant("reliability", float(given.reliability))
    net.constant("timer", given.failure == "timer")
    net.constant("visibility_ticks", round(ticks * float(given.visibility_timeout)))
    net.constant("link_ticks", round(ticks * float(given.link_delay)))
    _functions(net, given, ticks)


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


def _functions(net: Net, given: VmaParameters, ticks: int) -> None:
    messages = {"msgs": "Msgs", "index": "INT"}
    net.function("ifMsgArrived", messages, "any(x.id == index for x in msgs)")
    net.function("getIndexMsg", messages, "[x for x in msgs if x.id == index][0]")
    net.function("deleteMsg", messages, "[x for x in msgs if x.id != index]")
    listed = {"listed": "LIdxVis", "index": "INT"}
    net.function("listsub", listed, "[x for x in listed if x[0] != index]")
    net.function("isIn", listed, "any(x[0] == index for x in listed)")
    senders = {each.name: each.sender for each in given.classes}
    brokers = {each.name: each.broker for each in given.classes}
    services = (
        ("sendTime", given.sender_time, senders),
        ("brokerTime", given.broker_time, brokers),
    )
    for name, usual, own in services:
        net.function(name, {"content": "MsgContent"}, f"round({_by_class(usual, own, ticks)})")
    _placing(net, given)


def _by_class(usual: Distribution, own: dict[str, Distribution | None], ticks: int) -> str:
    """The usual service time, and that of each class that has its own."""
    text = in_ticks(usual, ticks)
    for name, times in reversed(own.items()):
        if times is not None and times != usual:
            text = f"{in_ticks(times, ticks)} if content == {name!r} else ({text})"
    return text


def in_ticks(times: Distribution, ticks: int) -> str:
    """A time in ticks as the language of nets writes it."""
    match times:
        case Exponential(mean):
            return f"exponential({1 / (ticks * mean)!r})"
        case Deterministic(mean):
            return f"{float(ticks * mean)!r}"
        case Erlang(mean, stages):
            return f"erlang({stages}, {stages / (ticks * mean)!r})"
        case Gamma(mean, scv):
            return f"gamma({1 / scv!r}, {1 / (ticks * mean * scv)!r})"
        case HyperExponential(shares, means):
            rates = [1 / (ticks * mean) for mean in means]
            return f"hyperexponential({list(shares)!r}, {rates!r})"
        case LogNormal():
            return f"lognormal({ticks * times.median!r}, {times.spread!r})"
        case Weibull(shape=shape):
            return f"weibull({float(shape)!r}, {ticks * times.scale!r})"
        case Pareto(shape=shape):
            return f"pareto({float(shape)!r}, {ticks * times.least!r})"
        case Empirical(values):
            return f"pick({[ticks * value for value in values]!r})"


def prioritised(given: VmaParameters) -> bool:
    return len({each.priority for each in given.classes}) > 1


def _placing(net: Net, given: VmaParameters) -> None:
    """Declares where a message enters a queue: at the end, or behind others of its priority."""
    placed = {"q": "Msgs", "m": "Msg"}
    shown = {"vis": "LIdxVis", "msgs": "Msgs", "m": "Msg"}
    again = {"vis": "LIdxVis", "msgs": "Msgs", "index": "INT"}
    if not prioritised(given):
        net.function("placed", placed, "[*q, m]")
        net.function("shown", shown, "[*vis, (m.id, 'visible')]")
        net.function("shownAgain", again, "[(index, 'visible'), *vis]")
        return
    rank = "0"
    for each in reversed(given.classes):
        rank = f"{each.priority} if content == {each.name!r} else ({rank})"
    net.function("rank", {"content": "MsgContent"}, rank)
    rank_of = "rank(getIndexMsg(msgs, index).msgContent)"
    net.function("rankOf", {"msgs": "Msgs", "index": "INT"}, rank_of)
    ahead = "rank(x.msgContent) <= rank(m.msgContent)"
    net.function("placed", placed, _inserted("q", "m", ahead))
    ahead = "rankOf(msgs, x[0]) <= rank(m.msgContent)"
    net.function("shown", shown, _inserted("vis", "(m.id, 'visible')", ahead))
    ahead = "rankOf(msgs, x[0]) < rankOf(msgs, index)"
    net.function("shownAgain", again, _inserted("vis", "(index, 'visible')", ahead))


def _inserted(queue: str, item: str, ahead: str) -> str:
    """The queue with an item behind those elements x for which `ahead` is true."""
    return f"[*[x for x in {queue} if {ahead}], {item}, *[x for x in {queue} if not {ahead}]]"
