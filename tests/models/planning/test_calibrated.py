"""Planning files that say how well their numbers are known."""

import tomllib
from pathlib import Path

import pytest

from dovemq.cli import main
from dovemq.models.errors import ModelSpecInvalid
from dovemq.models.planning import read_spec

FILE = """
[topics."000000000000/orders.fifo"]
service_rate = 10.0
service_scv = 0.5
consumers = 3
[topics.other]
service_rate = 40.0
[jobs.parcel]
arrival_rate = 12.0
arrival_scv = 2.0
path = ["000000000000/orders.fifo", "other"]
[jobs.letter]
arrival_rate = 8.0
path = ["000000000000/orders.fifo"]
"""
CALIBRATED = """
[calibrated]
confidence = 0.95
[calibrated.topics."000000000000/orders.fifo"]
service_rate = { value = 10.0, low = 9.5, high = 10.6, samples = 900 }
distribution = "gamma (mean 0.1, scv 0.5)"
[calibrated.jobs.parcel]
arrival_rate = { value = 12.0, low = 11.1, high = 12.9, samples = 700 }
"""


def test_a_topic_may_have_a_dot_in_its_name() -> None:
    network = read_spec(tomllib.loads(FILE)).problem.network
    assert [topic.name for topic in network.topics] == ["000000000000/orders.fifo", "other"]


def test_file_with_intervals_describes_the_same_network() -> None:
    assert read_spec(tomllib.loads(FILE + CALIBRATED)) == read_spec(tomllib.loads(FILE))


@pytest.mark.parametrize(
    ("then", "now", "reason"),
    [
        ("low = 9.5", "low = 10.5", "service_rate: 10 is not between 10.5 and 10.6"),
        ("confidence = 0.95", "confidence = 95", r"calibrated\.confidence: Expected `float` < 1"),
        ("confidence = 0.95", "", "calibrated.confidence: missing"),
        ("samples = 900", 'samples = "many"', "service_rate.samples: Expected `int`, got `str`"),
        (", samples = 900", "", "service_rate.samples: missing"),
        (
            "[calibrated.jobs.parcel]",
            "[calibrated.weather.parcel]",
            "calibrated.weather: unknown key",
        ),
        ("distribution =", "distributed =", "orders.fifo.distributed: unknown key"),
    ],
)
def test_invalid_interval_is_refused_with_its_place(then: str, now: str, reason: str) -> None:
    with pytest.raises(ModelSpecInvalid, match=reason):
        read_spec(tomllib.loads(FILE + CALIBRATED.replace(then, now)))


def test_one_topic_of_a_file_is_evaluated_as_a_queue(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.toml"
    path.write_text(FILE + CALIBRATED)
    asked = ["model", "queue", "--from", str(path)]
    assert main([*asked, "--topic", "000000000000/orders.fifo"]) == 0
    assert "utilisation       0.666667" in capsys.readouterr().out
    assert main([*asked, "--topic", "000000000000/orders.fifo", "--servers", "5"]) == 0
    assert "utilisation       0.4" in capsys.readouterr().out
    assert main(asked) == 2
    assert "--topic: name one of 000000000000/orders.fifo, other" in capsys.readouterr().err
    path.write_text("arrival_rate = 1.0\nservice_rate = 2.0\n")
    assert main([*asked, "--topic", "other"]) == 2
    assert "--topic is for a file" in capsys.readouterr().err
