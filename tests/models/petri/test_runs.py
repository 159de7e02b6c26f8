"""Monitors and replications: exact on small nets, and within intervals of theory on queues."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from dovemq.models.errors import ModelError
from dovemq.models.petri import (
    Breakpoint,
    Collector,
    Count,
    FunctionCollector,
    Int,
    Laboratory,
    List,
    ListLength,
    MarkingSize,
    Monitor,
    Net,
    NetInvalid,
    TimeAverage,
)
from dovemq.models.petri.monitors import Call
from tests.models.petri.queueing import erlang_c, sojourn, station


def _clockwork() -> Net:
    """A job comes every 2 units and takes 3 at one of two servers, without randomness."""
    return station(2, "2", "3")


def test_monitors_agree_with_a_computation_by_hand() -> None:
    laboratory = Laboratory(
        _clockwork(),
        [
            Count("arrivals", "Arrive"),
            Count("odd", "Start", when="n % 2 == 1"),
            Collector("time", "End", "now - at"),
            Collector("late", "End", "now", when="n == 1"),
            MarkingSize("serving", "Serving"),
            TimeAverage("any", "size('Serving') > 0"),
            TimeAverage("idle share", "size('Idle') / servers"),
        ],
    )
    run = laboratory.run(until=10)
    figures = run.figures
    assert figures["arrivals"].count == 6
    assert figures["odd"].count == 3
    assert (figures["time"].mean, figures["time"].least, figures["time"].most) == (3, 3, 3)
    assert figures["late"].mean == 5
    # Serving: 1 in 0..2, then 2 in 2..3, 1 in 3..4, and so on: 14 in 10.
    assert figures["serving"].mean == pytest.approx(1.4)
    assert figures["any"].mean == 1
    assert figures["idle share"].mean == pytest.approx(0.3)


def test_warm_up_is_not_counted() -> None:
    monitors: list[Monitor] = [Count("arrivals", "Arrive"), MarkingSize("serving", "Serving")]
    run = Laboratory(_clockwork(), monitors).run(until=20, warmup=4)
    assert run.duration == 16
    assert run.figures["arrivals"].count == 8
    assert run.figures["serving"].mean == pytest.approx(1.5)


def test_breakpoint_ends_the_run_after_its_firing() -> None:
    monitors: list[Monitor] = [
        Count("arrivals", "Arrive"),
        Breakpoint("third", "n == 2", ("Arrive",)),
    ]
    run = Laboratory(_clockwork(), monitors).run(until=100)
    assert run.ending.reason == "third"
    assert run.ending.now == 4
    assert run.figures["arrivals"].count == 3


def test_list_length_follows_the_list() -> None:
    net = Net("line")
    net.colour("Q", List(Int()))
    net.colour("Later", Int(timed=True))
    net.variable("q", "Q")
    net.variable("n", "Later")
    page = net.page("Main")
    page.place("Line", "Q", initial="[]")
    page.place("Tick", "Later", initial="0")
    page.transition("add", guard="n < 4")
    page.flow("Tick", "add", "n", "n + 1", delay="1")
    page.flow("Line", "add", "q", "[*q, n]")
    run = Laboratory(net, [ListLength("line", "Line")]).run(until=4)
    assert run.figures["line"].mean == pytest.approx((1 + 2 + 3 + 4) / 4)
    assert run.figures["line"].most == 4


def test_function_collector_makes_new_functions_for_each_run() -> None:
    made: list[list[float]] = []

    def make() -> dict[str, Call]:
        seen: list[float] = []
        made.append(seen)

        def arrived(now: float, binding: dict[str, Any]) -> None:
            seen.append(now)

        return {"Arrive": arrived, "End": lambda now, binding: float(binding["n"])}

    laboratory = Laboratory(_clockwork(), [FunctionCollector("w", ("Arrive", "End"), make)])
    report = laboratory.replicate(2, until=5)
    assert made == [[0, 2, 4], [0, 2, 4]]
    assert report.interval("w").mean == 0.5


def test_error_of_an_invalid_monitor_names_it() -> None:
    for monitor, text in (
        (Collector("c", "End", "z"), "monitor c: unknown name 'z'"),
        (TimeAverage("l", "size('Nowhere')"), "monitor l: no place is named 'Nowhere'"),
        (ListLength("q", "Queue"), "monitor q: Queue does not hold a list"),
        (Count("t", "Nothing"), "no transition is named 'Nothing'"),
        (Breakpoint("b", "1"), "monitor b: bool is expected"),
        (TimeAverage("n", "'a'"), "monitor n: real is expected"),
    ):
        with pytest.raises(NetInvalid) as error:
            Laboratory(_clockwork(), [monitor])
        assert text in str(error.value)
    with pytest.raises(NetInvalid, match="two monitors have the same name"):
        Laboratory(_clockwork(), [Count("a", "End"), Count("a", "Start")])


def test_monitors_change_nothing() -> None:
    net = station(2, "exponential(1.5)", "exponential(1.0)")
    monitors: list[Monitor] = [
        Collector("t", "End", "now - at"),
        MarkingSize("q", "Queue"),
        Count("c", "End"),
    ]
    bare, watched = Laboratory(net), Laboratory(net, monitors)
    assert bare.run(3, until=200).ending == watched.run(3, until=200).ending


@pytest.mark.parametrize(("servers", "arrivals"), [(1, 0.7), (3, 2.4), (6, 4.5)])
def test_station_agrees_with_theory(servers: int, arrivals: float) -> None:
    net = station(servers, f"exponential({arrivals})", "exponential(1.0)")
    monitors: list[Monitor] = [
        Collector("sojourn", "End", "now - at"),
        MarkingSize("busy", "Serving"),
        MarkingSize("queue", "Queue"),
        Count("done", "End"),
    ]
    report = Laboratory(net, monitors).replicate(
        20, until=1_300, warmup=100, seed=11, confidence=0.99
    )
    assert report.interval("sojourn").holds(sojourn(servers, arrivals, 1.0))
    assert report.interval("busy").holds(arrivals)
    waiting = erlang_c(servers, arrivals) * arrivals / (servers - arrivals)
    assert report.interval("queue").holds(waiting)
    assert report.rate("done").holds(arrivals)


def test_single_server_of_any_service_agrees_with_pollaczek_and_khinchine() -> None:
    for service, mean, scv in (
        ("0.5", 0.5, 0.0),
        ("erlang(4, 8.0)", 0.5, 0.25),
        ("hyperexponential([0.5, 0.5], [1.5, 6.0])", 5 / 12, 1.72),
    ):
        net = station(1, "exponential(1.2)", service)
        report = Laboratory(net, [Collector("s", "End", "now - at")]).replicate(
            20, until=1_600, warmup=100, seed=5, confidence=0.99
        )
        load = 1.2 * mean
        expected = mean + load * mean * (1 + scv) / (2 * (1 - load))
        assert report.interval("s").holds(expected), service


def test_replications_differ_only_in_their_seeds() -> None:
    net = station(1, "exponential(0.5)", "exponential(1.0)")
    laboratory = Laboratory(net, [Count("c", "End")])
    report = laboratory.replicate(4, until=100, seed=9)
    again = laboratory.replicate(4, until=100, seed=9)
    assert report == again
    assert len({run.ending.steps for run in report.runs}) > 1
    assert laboratory.run("9/2", until=100) == report.runs[2]


def test_invalid_replications_warm_up_and_confidence_are_refused() -> None:
    laboratory = Laboratory(_clockwork())
    with pytest.raises(ModelError, match="replications is 0"):
        laboratory.replicate(0, until=5)
    with pytest.raises(ModelError, match="warmup is 6"):
        laboratory.replicate(2, until=5, warmup=6)
    with pytest.raises(ModelError, match="confidence is"):
        laboratory.replicate(2, until=5, confidence=1.5)


def test_run_can_be_stopped_from_another_thread() -> None:
    started = threading.Event()
    monitor = FunctionCollector("started", ("End",), lambda: {"End": lambda *_: started.set()})
    laboratory = Laboratory(_clockwork(), [monitor])
    with ThreadPoolExecutor(1) as pool:
        work = pool.submit(laboratory.replicate, 2, until=1e12, progress=lambda _: None)
        started.wait()
        laboratory.stop()
        report = work.result()
    assert [run.ending.reason for run in report.runs] == ["stopped"]
