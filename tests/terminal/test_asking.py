"""The requests of each second, and the pauses between them when nobody answers."""

import pytest

from dovemq.client.errors import Refused
from dovemq.terminal.asking import WAIT_SECONDS_MAX, Asking, AskingPauses, Listing
from dovemq.terminal.pictures import overview_picture
from tests.terminal.fakes import FakeAdmin, row


async def test_front_ends_are_asked_once_if_the_store_belongs_to_one_server() -> None:
    admin = FakeAdmin([row("orders")])
    asking = Asking(admin)
    for _ in range(3):
        assert (await asking.overview(Listing()))["cluster"] is None
    assert admin.asked.count("cluster") == 1
    assert admin.asked.count("overview") == 3


async def test_front_ends_are_counted_by_state() -> None:
    states = [{"front_end": 7, "state": "serving"}, {"front_end": 3, "state": "dead"}]
    status = {"front_end": 7, "front_ends": states, "partitions": [{}, {}]}
    picture = overview_picture(await Asking(FakeAdmin([], status)).overview(Listing()))
    ends = picture.front_ends
    assert ends is not None
    assert (ends.serving, ends.dead, ends.partitions, ends.asked) == (1, 1, 2, 7)


async def test_refusals_other_than_of_the_front_ends_are_raised() -> None:
    admin = FakeAdmin([], failure=Refused(403, "AccessKeyUnknown", "no such key", "id"))
    with pytest.raises(Refused, match="AccessKeyUnknown"):
        await Asking(admin).overview(Listing())


def test_each_failure_doubles_the_pause_up_to_a_limit() -> None:
    pauses = AskingPauses()
    seconds = []
    for _ in range(8):
        pauses.failed()
        seconds.append(pauses.pause_seconds)
    assert seconds[:5] == [2, 4, 8, 16, 30]
    assert max(seconds) == WAIT_SECONDS_MAX
    pauses.succeeded()
    assert pauses.pause_seconds == 1


async def test_hurry_ends_a_pause_and_also_one_that_has_not_begun() -> None:
    pauses = AskingPauses()
    for _ in range(8):
        pauses.failed()
    pauses.hurry()
    await pauses.wait()
