"""Where closed forms end: unknown figures are absent, and numbers too large are refused."""

import json

import numpy as np
import pytest

from dovemq.cli import main
from dovemq.models.analytic import ggm, mg1, mmc, single_server
from dovemq.models.distributions import Deterministic, by_moments
from dovemq.models.errors import ModelParameterInvalid


def test_probability_of_a_wait_is_given_only_where_two_moments_determine_it() -> None:
    assert np.isnan(ggm(2, 0.5, 3, 0.5, 1).wait_probability)
    assert np.isnan(ggm(2, 1.0, 3, 0.5, 2).wait_probability)
    assert ggm(2, 1.0, 3, 0.5, 1).wait_probability == mg1(2, 3, 0.5).wait_probability
    assert ggm(2, 1.0, 3, 1.0, 2).wait_probability == mmc(2, 3, 2).wait_probability
    assert ggm(2, 0.0, 3, 0.0, 1).wait_probability == 0.0
    assert ggm(9, 0.5, 3, 0.5, 1).wait_probability == 1.0
    assert ggm(0, 0.5, 3, 0.5, 1).wait_probability == 0.0


def test_unknown_probability_is_null_and_a_dash(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["model", "queue", "--arrival-rate", "2", "--service-rate", "3", "--arrival-scv", "0.5"]
    assert main([*asked, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["results"][0]["wait_probability"] is None
    assert main(asked) == 0
    assert ["wait_probability", "-"] in map(str.split, capsys.readouterr().out.splitlines())


@pytest.mark.parametrize("rate", [1e308, 1e200, 1e-308])
def test_rate_whose_products_overflow_is_refused_by_name(rate: float) -> None:
    with pytest.raises(ModelParameterInvalid, match="service_rate"):
        mmc(1.0, rate, 3)


@pytest.mark.parametrize("scv", [1e-15, 1e-12, 1e-9, 1e-7, 1e-6, 1e-5])
def test_tail_of_a_service_that_hardly_varies_is_that_of_a_constant_one(scv: float) -> None:
    nearly, constant = (
        single_server(0.7, by_moments(1.0, scv)),
        single_server(0.7, Deterministic(1)),
    )
    for time in (0.5, 1.0, 2.0, 5.0, 10.0):
        assert nearly.wait_tail(time) == pytest.approx(float(constant.wait_tail(time)), rel=2e-3)


def test_station_with_scvs_reports_approximate_quantiles(
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = "model queue --service-rate 10 --arrival-rate 30 --servers 4 --arrival-scv 0.5"
    assert main([*asked.split(), "--percentile", "50,95", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["percentiles"]["how"] == "approximate"
    middle, tail = found["percentiles"]["quantiles"]
    assert tail["sojourn"] > middle["sojourn"] > 0
    assert tail["wait"] < tail["sojourn"] < float(mmc(30, 10, 4).sojourn_quantile(0.95))
