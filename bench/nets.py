"""Classical nets in several sizes, for tests of the state space and for its speed."""

from dovemq.models.petri.colours import Bool, Enum, Int, List, Product, Real, Unit
from dovemq.models.petri.nets import Net, Page


def wired(page: Page, name: str, takes: str, puts: str) -> None:
    """A transition of a P/T net; `"a b 2*c"` names places with weights."""
    page.transition(name)
    for text, inward in ((takes, True), (puts, False)):
        for part in text.split():
            weight, _, place = part.rpartition("*")
            ends = (place, name) if inward else (name, place)
            page.arc(*ends, weight=int(weight or 1))


def kanban(cards: int) -> Net:
    """Four cells, synchronised as in Ciardo and Tilgner (1996)."""
    net = Net(f"kanban {cards}")
    page = net.page("Main")
    for cell in range(1, 5):
        page.place(f"kanban{cell}", initial=cards)
        for state in ("m", "back", "out"):
            page.place(f"{state}{cell}")
        wired(page, f"redo{cell}", f"m{cell}", f"back{cell}")
        wired(page, f"back_again{cell}", f"back{cell}", f"m{cell}")
        wired(page, f"ok{cell}", f"m{cell}", f"out{cell}")
    wired(page, "in1", "kanban1", "m1")
    wired(page, "split", "out1 kanban2 kanban3", "kanban1 m2 m3")
    wired(page, "join", "out2 out3 kanban4", "kanban2 kanban3 m4")
    wired(page, "out", "out4", "kanban4")
    return net


def fms(parts: int) -> Net:
    """The flexible manufacturing system of Ciardo and Trivedi (1993)."""
    net = Net(f"fms {parts}")
    page = net.page("Main")
    for name in ("P1", "P2", "P3"):
        page.place(name, initial=parts)
    for name in (
        "P1wM1", "P1M1", "P1d", "P1s", "P1wP2", "P2wM2", "P2M2", "P2d", "P2s", "P2wP1", "P3M2",
        "P3s", "P12", "P12wM3", "P12M3", "P12s",
    ):  # fmt: skip
        page.place(name)
    for name, count in (("M1", 3), ("M2", 1), ("M3", 2)):
        page.place(name, initial=count)
    for line in (
        "tP1: P1 > P1wM1", "tM1: P1wM1 M1 > P1M1", "tP1M1: P1M1 > P1d M1", "tP1e: P1d > P1s",
        "tP1j: P1d > P1wP2", "tP2: P2 > P2wM2", "tM2: P2wM2 M2 > P2M2", "tP2M2: P2M2 > P2d M2",
        "tP2e: P2d > P2s", "tP2j: P2d > P2wP1", "tP3: P3 > P3M2", "tP3M2: P3M2 M2 > P3s M2",
        "tx: P1wP2 P2wP1 > P12", "tP12: P12 > P12wM3", "tM3: P12wM3 M3 > P12M3",
        "tP12M3: P12M3 > P12s M3", "tP1s: P1s > P1", "tP2s: P2s > P2", "tP3s: P3s > P3",
        "tP12s: P12s > P1 P2",
    ):  # fmt: skip
        name, _, flow = line.partition(":")
        takes, _, puts = flow.partition(">")
        wired(page, name, takes, puts)
    return net


def philosophers(count: int) -> Net:
    """Each takes the left fork, then the right one: a P/T net that can stop."""
    net = Net(f"philosophers {count}")
    page = net.page("Main")
    for one in range(count):
        page.place(f"fork{one}", initial=1)
        page.place(f"thinks{one}", initial=1)
        page.place(f"waits{one}")
        page.place(f"eats{one}")
    for one in range(count):
        left, right = f"fork{one}", f"fork{(one + 1) % count}"
        wired(page, f"take_left{one}", f"thinks{one} {left}", f"waits{one}")
        wired(page, f"take_right{one}", f"waits{one} {right}", f"eats{one}")
        wired(page, f"stop{one}", f"eats{one}", f"thinks{one} {left} {right}")
    return net


def coloured_philosophers(count: int) -> Net:
    """The same as a coloured net: one token for each philosopher and fork."""
    net = Net(f"coloured philosophers {count}")
    net.colour("Seat", Int(0, count - 1))
    net.variable("p", "Seat")
    net.constant("n", count)
    page = net.page("Main")
    seats = ", ".join(map(str, range(count)))
    page.place("Forks", "Seat", initial=f"tokens({seats})")
    page.place("Think", "Seat", initial=f"tokens({seats})")
    page.place("Wait", "Seat")
    page.place("Eat", "Seat")
    for name, source, target in (("Left", "Think", "Wait"), ("Right", "Wait", "Eat")):
        page.transition(name)
        page.arc(source, name, "p")
        page.arc("Forks", name, "p" if name == "Left" else "(p + 1) % n")
        page.arc(name, target, "p")
    page.transition("Stop")
    page.arc("Eat", "Stop", "p")
    page.arc("Stop", "Think", "p")
    page.arc("Stop", "Forks", "tokens(p, (p + 1) % n)")
    return net


def readers_writers(readers: int, writers: int) -> Net:
    """A writer needs all permits, a reader one."""
    net = Net(f"readers and writers {readers} {writers}")
    page = net.page("Main")
    page.place("permits", initial=readers)
    page.place("idle_readers", initial=readers)
    page.place("idle_writers", initial=writers)
    page.place("reading")
    page.place("writing")
    wired(page, "start_reading", "idle_readers permits", "reading")
    wired(page, "stop_reading", "reading", "idle_readers permits")
    wired(page, "start_writing", f"idle_writers {readers}*permits", "writing")
    wired(page, "stop_writing", "writing", f"idle_writers {readers}*permits")
    return net


def token_ring(stations: int) -> Net:
    """A token goes round; the station that has it may work, then passes it on."""
    net = Net(f"token ring {stations}")
    page = net.page("Main")
    for one in range(stations):
        page.place(f"idle{one}", initial=1)
        page.place(f"asks{one}")
        page.place(f"works{one}")
        page.place(f"token{one}", initial=1 if one == 0 else 0)
    for one in range(stations):
        after = f"token{(one + 1) % stations}"
        wired(page, f"ask{one}", f"idle{one}", f"asks{one}")
        wired(page, f"work{one}", f"asks{one} token{one}", f"works{one}")
        wired(page, f"done{one}", f"works{one}", f"idle{one} {after}")
        wired(page, f"pass{one}", f"idle{one} token{one}", f"idle{one} {after}")
    return net


def simple_protocol(packets: int, capacity: int) -> Net:
    """A sender repeats packets until they are acknowledged; the network loses some.

    Sender and receiver count; each direction holds at most `capacity` packets.
    """
    net = Net(f"simple protocol {packets} {capacity}")
    net.colour("Number", Int(1, packets + 1))
    net.variable("n k", "Number")
    page = net.page("Main")
    page.place("NextSend", "Number", initial="1")
    page.place("NextReceive", "Number", initial="1")
    for name in ("Packets", "Acks"):
        page.place(name, "Number")
        page.place(f"Free{name}", initial=capacity)
    page.transition("Send", guard=f"n <= {packets}")
    page.flow("NextSend", "Send", "n", "n")
    page.arc("FreePackets", "Send")
    page.arc("Send", "Packets", "n")
    page.transition("Receive")
    page.arc("Packets", "Receive", "n")
    page.arc("FreeAcks", "Receive")
    page.flow("NextReceive", "Receive", "k", "k + 1 if n == k else k")
    page.arc("Receive", "Acks", "k + 1 if n == k else k")
    page.arc("Receive", "FreePackets")
    page.transition("Acknowledge")
    page.arc("Acks", "Acknowledge", "n")
    page.flow("NextSend", "Acknowledge", "k", "max(k, n)")
    page.arc("Acknowledge", "FreeAcks")
    for name in ("Packets", "Acks"):
        page.transition(f"Lose{name}")
        page.arc(name, f"Lose{name}", "n")
        page.arc(f"Lose{name}", f"Free{name}")
    return net


def alternating_bit(capacity: int) -> Net:
    """A sequence of one bit over two channels that keep order, lose packets and hold a few."""
    net = Net(f"alternating bit {capacity}")
    net.colour("Bit", Bool())
    net.colour("Channel", List(Bool(), capacity))
    net.colour("State", Enum(names=("ready", "sent")))
    net.colour("Sender", Product((net.colours["State"], Bool())))
    net.variable("b c", "Bit")
    net.variable("q", "Channel")
    net.constant("full", capacity)
    page = net.page("Main")
    page.place("Sender", "Sender", initial="('ready', False)")
    page.place("Receiver", "Bit", initial="False")
    page.place("There", "Channel", initial="[]")
    page.place("Back", "Channel", initial="[]")
    page.transition("Send", guard="len(q) < full")
    page.flow("Sender", "Send", "('ready', b)", "('sent', b)")
    page.flow("There", "Send", "q", "[*q, b]")
    page.transition("Repeat", guard="len(q) < full")
    page.flow("Sender", "Repeat", "('sent', b)", "('sent', b)")
    page.flow("There", "Repeat", "q", "[*q, b]")
    page.transition("Acked")
    page.flow("Sender", "Acked", "('sent', b)", "('ready', not b) if b == c else ('sent', b)")
    page.flow("Back", "Acked", "[c, *q]", "q")
    page.transition("Receive")
    page.flow("There", "Receive", "[b, *q]", "q")
    page.flow("Receiver", "Receive", "c", "not c if b == c else c")
    _answer(net, page)
    for channel in ("There", "Back"):
        page.transition(f"Lose{channel}")
        page.flow(channel, f"Lose{channel}", "[b, *q]", "q")
    return net


def _answer(net: Net, page: Page) -> None:
    """The receiver may send its last bit at any time."""
    page.transition("Answer", guard="len(q) < full")
    page.flow("Receiver", "Answer", "c", "c")
    page.flow("Back", "Answer", "q", "[*q, not c]")


def tandem(arrivals: float, rate: float, servers: int, reliability: float) -> Net:
    """The VMA tandem with one token for each message, which any coloured engine can run."""
    net = Net("tandem")
    net.colour("Number", Int())
    net.colour("Stamp", Real())
    net.colour("Ok", Bool())
    net.colour("Message", Product((Int(), Real())))
    net.colour("Sent", Product((Int(), Real()), timed=True))
    net.colour("Got", Product((Int(), Real(), Bool()), timed=True))
    net.colour("Tick", Unit(timed=True))
    net.variable("n", "Number")
    net.variable("at", "Stamp")
    page = net.page("Main")
    page.place("Next", "Tick", initial="()")
    page.place("Ids", "Number", initial="1")
    page.place("SendQueue", "Message")
    page.place("Senders", initial=servers)
    page.place("Sending", "Sent")
    page.place("Queue", "Message")
    page.place("Threads", initial=servers)
    page.place("Processing", "Got")
    page.transition("Produce")
    page.flow("Next", "Produce", "()", "()", delay=f"exponential({arrivals})")
    page.flow("Ids", "Produce", "n", "n + 1")
    page.arc("Produce", "SendQueue", "(n, now)")
    page.transition("StartSend")
    page.arc("SendQueue", "StartSend", "(n, at)")
    page.arc("Senders", "StartSend")
    page.arc("StartSend", "Sending", "(n, at)", delay=f"exponential({rate})")
    page.transition("EndSend")
    page.arc("Sending", "EndSend", "(n, at)")
    page.arc("EndSend", "Senders")
    page.arc("EndSend", "Queue", "(n, at)")
    page.transition("Get")
    page.arc("Queue", "Get", "(n, at)")
    page.arc("Threads", "Get")
    page.arc(
        "Get", "Processing", f"(n, at, bernoulli({reliability}))", delay=f"exponential({rate})"
    )
    for name, outcome in (("Deliver", "True"), ("Lose", "False")):
        page.transition(name)
        page.arc("Processing", name, f"(n, at, {outcome})")
        page.arc(name, "Threads")
    page.arc("Lose", "Queue", "(n, at)")
    return net
