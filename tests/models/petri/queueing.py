"""A service station as a net, and its theory."""

import math

from dovemq.models.petri import Int, Net, Product, Real, Unit


def station(servers: int, arrival: str, service: str, **constants: float) -> Net:
    """Jobs carry the time of their arrival; `arrival` and `service` are expressions of delays."""
    net = Net("station")
    net.colour("Tick", Unit(timed=True))
    net.colour("Stamp", Real())
    net.colour("Busy", Product((Int(), Real()), timed=True))
    net.colour("Number", Int())
    net.variable("n", "Number")
    net.variable("at", "Stamp")
    net.colour("Job", Product((Int(), Real())))
    net.constant("servers", servers)
    for name, value in constants.items():
        net.constant(name, value)
    page = net.page("Main")
    page.place("Next", "Tick", initial="()")
    page.place("Ids", "Number", initial="0")
    page.place("Queue", "Job")
    page.place("Idle", initial="times(servers, ())")
    page.place("Serving", "Busy")
    page.transition("Arrive")
    page.flow("Next", "Arrive", "()", "()", delay=arrival)
    page.flow("Ids", "Arrive", "n", "n + 1")
    page.arc("Arrive", "Queue", "(n, now)")
    page.transition("Start")
    page.arc("Queue", "Start", "(n, at)")
    page.arc("Idle", "Start")
    page.arc("Start", "Serving", "(n, at)", delay=service)
    page.transition("End")
    page.arc("Serving", "End", "(n, at)")
    page.arc("End", "Idle")
    return net


def erlang_c(servers: int, load: float) -> float:
    """The probability that an arrival waits in M/M/c."""
    terms = [load**k / math.factorial(k) for k in range(servers)]
    last = load**servers / math.factorial(servers) / (1 - load / servers)
    return last / (sum(terms) + last)


def sojourn(servers: int, arrival_rate: float, service_rate: float) -> float:
    load = arrival_rate / service_rate
    wait = erlang_c(servers, load) / (servers * service_rate - arrival_rate)
    return wait + 1 / service_rate


def vma_delivery(
    arrival_rate: float, rate: float, sender: int, broker: int, reliability: float
) -> float:
    """Eq. 8 of the vma paper, corrected: a message visits the broker 1/q times on average."""
    again = arrival_rate / reliability
    return sojourn(sender, arrival_rate, rate) + sojourn(broker, again, rate) / reliability
