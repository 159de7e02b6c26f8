"""The file of a sweep is checked key by key before anything runs."""

import pytest

from dovemq.models.errors import ModelParameterInvalid, ModelSpecInvalid
from dovemq.models.grids import spaced
from dovemq.models.sweeping import SweepFindings
from tests.models.sweeping.asking import QUEUE, VMA, sweep_of


def test_every_combination_is_a_configuration_the_last_axis_fastest() -> None:
    sweep = sweep_of(QUEUE)
    assert sweep.points == ((0.5, 1), (0.5, 2), (0.5, 3), (0.8, 1), (0.8, 2), (0.8, 3))
    assert sweep.values(4) == {"service_rate": 1, "arrival_rate": 0.8, "consumers": 2}


def test_a_grid_from_to_step_has_round_numbers() -> None:
    assert spaced("x", "0.1:0.5:0.1") == [0.1, 0.2, 0.3, 0.4, 0.5]
    assert spaced("x", "4:7") == [4, 5, 6, 7]
    assert all(isinstance(value, int) for value in spaced("x", "8:64:8"))
    for wrong in ("1", "1:2:3:4", "5:1", "1:5:0", "a:b", "0:1:1e-9", "0:inf"):
        with pytest.raises(ModelParameterInvalid):
            spaced("x", wrong)


def test_what_results_depend_on_is_the_identity_of_a_sweep() -> None:
    same = sweep_of(QUEUE, None, ("[grid]", "# a word\n[grid]"), ("[0.5, 0.8]", "[0.50, 0.8]"))
    assert same.identity() == sweep_of(QUEUE).identity()
    for old, new in (("seed = 4", "seed = 5"), ("min = 3", "min = 4"), ("0.8", "0.7")):
        assert sweep_of(QUEUE, None, (old, new)).identity() != same.identity()


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('model = "queue"', 'model = "star"', "'star' is none of queue, vma"),
        ('model = "queue"', "", "model: missing"),
        ('model = "queue"', 'model = "queue"\nfile = "x"', "file: model 'queue' takes no file"),
        ('model = "queue"', 'model = "queue"\ncolour = 1', "colour: unknown key"),
        ("horizon = 500", "horizon = 0", "run: horizon"),
        ("horizon = 500", "", "run.horizon: missing"),
        ("seed = 4", "seed = -1", "run: seed"),
        ("seed = 4", "confidence = 1.0", "confidence"),
        ("min = 3", "min = true", "replications.min: Expected `int`, got `bool`"),
        ("min = 3", "max = 30", "replications.half_width"),
        ("min = 3", 'of = ["none"]', "not among the measures"),
        ('consumers = "1:3"', "consumers = []", "grid.consumers"),
        ('consumers = "1:3"', "consumers = 3", "neither a list nor FROM:TO:STEP"),
        ('consumers = "1:3"', 'consumers = "3:1"', "grid.consumers"),
        ("service_rate = 1", "service_rate = [1]", "fixed.service_rate"),
        ("[0.5, 0.8]", '"0:1:0.0000001"', "points"),
        ('"waiting_time"', "7", "Expected `str`, got `int`"),
        ("[grid]", "[grid]\nseed = [1, 2]", "name of a column"),
    ],
)
def test_invalid_file_is_refused_with_its_place(old: str, new: str, reason: str) -> None:
    with pytest.raises(ModelSpecInvalid, match=reason.replace(".", r"\.")):
        sweep_of(QUEUE, None, (old, new))


@pytest.mark.parametrize(
    ("text", "old", "new", "reason"),
    [
        (QUEUE, "service_rate = 1", "service_rate = 0", "configuration 0 .* service_rate is 0"),
        (QUEUE, "service_rate = 1", "", "service_rate: missing"),
        (QUEUE, "service_rate = 1", "service_rate = 1\nspeed = 2", "speed: none of arrival_rate"),
        (QUEUE, '"1:3"', "[1, 1.5]", r"configuration 1 \(arrival_rate = 0.5, .*not a whole number"),
        (QUEUE, "service_rate = 1", "service_rate = 1\npartitions = 2", "partitions is 2"),
        (QUEUE, '"waiting_time"', '"wait"', "'wait' is none of sojourn_time, .*sojourn_p95"),
        (QUEUE, '"sojourn_p95"', '"sojourn_p0"', "'sojourn_p0' is none of"),
        (VMA, "threads = 5", "threads = 0", "sender_threads"),
        (VMA, "arrival_rate = 30.3", "arrival_rate = 0", "arrival_rate: 0"),
        (VMA, '["out", "in"]', '["out", "down"]', "order"),
        (VMA, '["out", "in"]', "[1]", "order: 1 is not a text"),
        (VMA, "threads = 5", 'threads = "5"', "'5' is not a number"),
        (VMA, 'model = "vma"', 'model = "network"', "needs its planning file"),
        (VMA, 'model = "vma"', 'model = "cpn"', "a net is needed"),
    ],
)
def test_invalid_configuration_is_named(text: str, old: str, new: str, reason: str) -> None:
    with pytest.raises(ModelSpecInvalid, match=reason):
        SweepFindings(sweep_of(text, None, (old, new)))
