"""Servers of bdqs: bounds, Little's law, and the closed forms of one server."""

import pytest

from dovemq.models.errors import ModelParameterInvalid
from dovemq.models.simulation.servers import (
    RequestCost,
    ServersFigures,
    ServersModel,
    simulate_servers,
)

COST = RequestCost(0.001, 0.004)


def found(nodes: int, clients: int, **changes: float) -> tuple[ServersModel, ServersFigures]:
    model = ServersModel(nodes, clients, (COST,), replicas=min(3, nodes), **changes)
    return model, simulate_servers(model, 20_000, seed=1)


@pytest.mark.parametrize(("nodes", "clients"), [(1, 50), (3, 100), (10, 300), (70, 5_000)])
def test_many_clients_use_all_servers(nodes: int, clients: int) -> None:
    model, figures = found(nodes, clients)
    assert figures.rate == pytest.approx(model.rate_max, rel=0.06)


@pytest.mark.parametrize(("nodes", "clients"), [(1, 1), (1, 10), (3, 6), (10, 40)])
def test_clients_are_their_rate_times_their_response_time(nodes: int, clients: int) -> None:
    _, figures = found(nodes, clients)
    assert figures.rate * figures.response == pytest.approx(clients, rel=0.02)


def test_one_client_of_one_server_waits_for_the_work_alone() -> None:
    model, figures = found(1, 1)
    work = COST.front_end + COST.storage + 2 * model.latency
    assert figures.response == pytest.approx(work, rel=0.03)


def test_answer_comes_with_the_first_replica() -> None:
    """The least of three exponential times is a third of their mean."""
    model, figures = found(70, 1)
    work = COST.front_end + COST.storage / 9 + 2 * model.latency
    assert figures.response == pytest.approx(work, rel=0.05)


def test_pauses_of_clients_leave_servers_idle() -> None:
    model, figures = found(3, 10, delay=1.0)
    assert figures.rate == pytest.approx(10 / (1.0 + figures.response), rel=0.03)
    assert figures.rate < 0.1 * model.rate_max


def test_half_a_core_is_half_as_fast() -> None:
    _, whole = found(3, 200)
    _, half = found(3, 200, speed=0.5)
    assert half.rate == pytest.approx(whole.rate / 2, rel=0.05)


def test_same_seed_gives_the_same_figures() -> None:
    assert found(10, 50)[1] == found(10, 50)[1]


def test_more_replicas_than_servers_are_refused() -> None:
    with pytest.raises(ModelParameterInvalid, match="replicas"):
        ServersModel(2, 1, (COST,), replicas=3)
