"""Time, chance and identity come through constructors; only named places ask the machine."""

import re

from tests.tidy.sources import called_names, sources

ASKS_THE_MACHINE = re.compile(
    r"time\.(time|time_ns|localtime|gmtime|ctime)"
    r"|datetime\.(datetime\.(now|utcnow|today)|date\.today)"
    r"|random\.(?!Random$|SystemRandom$)\w+"
    r"|uuid\.uuid[14]"
)
MAY_ASK = ("src/dovemq/system/clock.py", "src/dovemq/bootstrap", "src/dovemq/testing/", "bench/")
MAY_SLEEP = ("tests/acceptance/", "tests/faults/")


def test_no_hidden_clock_chance_or_identity() -> None:
    found = [
        f"{source.name}:{call.lineno} {name}"
        for source in sources("src", "tools", "bench", "examples")
        if not source.name.startswith(MAY_ASK)
        for name, call in called_names(source)
        if ASKS_THE_MACHINE.fullmatch(name)
    ]
    assert not found, "take the clock, generator or id maker in the constructor"


def test_every_random_generator_has_a_seed() -> None:
    found = [
        f"{source.name}:{call.lineno}"
        for source in sources()
        if not source.name.startswith(MAY_ASK)
        for name, call in called_names(source)
        if name == "random.Random" and not call.args
    ]
    assert not found


def test_no_test_of_one_process_sleeps() -> None:
    found = [
        f"{source.name}:{call.lineno}"
        for source in sources("tests")
        if not source.name.startswith(MAY_SLEEP)
        for name, call in called_names(source)
        if name == "time.sleep"
    ]
    assert not found, "advance a ManualClock instead"
