"""Which groups count after a change of the owner."""

from dovemq.stores.owned.logged.seals import Seals
from tests.logged.groups import at


def test_all_groups_count_without_a_seal() -> None:
    assert Seals({}).count(at(3, 9))


def test_groups_of_earlier_epochs_are_void_beyond_the_seal() -> None:
    seals = Seals({2: at(1, 5)})
    assert seals.count(at(1, 5))
    assert not seals.count(at(1, 6))
    assert seals.count(at(2, 0))
    assert seals.count(at(2, 6))


def test_void_seal_has_no_effect() -> None:
    # The owner of epoch 3 did not see the seal of epoch 2, which came late.
    seals = Seals({2: at(1, 3), 3: at(1, 5)})
    assert seals.count(at(1, 5))
    assert not seals.count(at(2, 0))
    assert not seals.count(at(1, 6))


def test_older_seal_stays_in_force_under_a_newer_one() -> None:
    seals = Seals({2: at(1, 3), 4: at(2, 7)})
    assert not seals.count(at(1, 4))
    assert seals.count(at(2, 7))
    assert not seals.count(at(2, 8))
    assert not seals.count(at(3, 0))
