"""A complete load run, on a service that fails as a test says."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from dovemq.client import Refused, Unreachable
from dovemq.load.judgement import Cause, Violation
from dovemq.load.plan import Endpoint, LoadPlan, Pauses, Phases, PlanInvalid
from dovemq.load.receiver import Quits
from dovemq.load.results import LoadResult, Repetition
from dovemq.load.run import Live, run
from dovemq.load.threads import Share
from dovemq.load.worker import Worker
from tests.load.fake_service import Decide, FakeService, Mishap, never, serving

MESSAGES = 40


def plan(endpoint: Endpoint, **fields: Any) -> LoadPlan:
    small: dict[str, Any] = {
        "name": "test",
        "senders": 2,
        "receivers": 2,
        "messages": MESSAGES // 2,
        "lease_seconds": 60,
        "wait_seconds": 0,
        "body_bytes": 100,
    }
    return LoadPlan(endpoint=endpoint, **{**small, **fields})


async def ran(
    decide: Decide = never, quits: Quits | None = None, **fields: Any
) -> tuple[LoadResult, FakeService]:
    async with serving(decide) as (service, endpoint):
        return await run(plan(endpoint, **fields), quits=quits), service


def only(result: LoadResult) -> Repetition:
    (repetition,) = result.repetitions
    return repetition


def once(operation: str, mishap: Mishap, number: int = 7) -> Decide:
    return lambda asked, at: mishap if (asked, at) == (operation, number) else Mishap.NONE


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"send_batch": 10, "receive_batch": 1},
        {"applications": 3},
        {"phases": Phases.APART},
        {"send_rate": 400.0, "receive_rate": 400.0},
        {"plain": True},
        {"wave_seconds": 1.0, "send_pause_ms": 30, "receivers": 3},
        {"receive_pause_ms": 2, "receive_pauses": Pauses.EXPONENTIAL},
    ],
    ids=str,
)
async def test_every_message_is_sent_received_deleted_and_accounted_for(
    fields: dict[str, Any],
) -> None:
    result, service = await ran(**fields)
    total = MESSAGES * fields.get("applications", 1)
    done = only(result)
    assert not result.failed
    assert (done.sends.messages, done.receives.messages, done.settles.messages) == (total,) * 3
    assert (done.report.messages, done.report.received, done.report.left) == (total, total, 0)
    assert done.report.rates["loss_rate"] == 0
    assert done.sends.rate > 0
    assert service.queues == {}


async def test_receivers_of_phases_apart_begin_after_the_last_send() -> None:
    _, service = await ran(phases=Phases.APART)
    asked = service.operations
    first_receive = asked.index("receivemessage")
    assert asked[:first_receive].count("sendmessage") == MESSAGES


async def test_acknowledged_message_that_was_not_kept_is_lost_and_named() -> None:
    result, _ = await ran(once("sendmessage", Mishap.LIED), drain_ms_max=3_000)
    (culprit,) = only(result).report.culprits
    assert result.failed
    assert culprit.faults == (Violation.LOST,)
    assert culprit.queue == "test-1-0"


async def test_send_without_an_answer_is_unknown_and_not_repeated_by_itself() -> None:
    result, service = await ran(once("sendmessage", Mishap.UNANSWERED))
    report = only(result).report
    assert not result.failed
    assert (report.sends.acknowledged, report.sends.unknown) == (MESSAGES - 1, 1)
    assert service.asked["sendmessage"] == MESSAGES
    assert only(result).failures == {"send: Unreachable": 1}


@pytest.mark.parametrize(
    ("mishap", "copies"),
    [(Mishap.UNANSWERED, 1), (Mishap.DROPPED, 0), (Mishap.FAILED, 1)],
)
async def test_resent_message_may_come_twice_and_is_never_lost(mishap: Mishap, copies: int) -> None:
    result, _ = await ran(once("sendmessage", mishap), resend=True)
    report = only(result).report
    assert not result.failed
    assert (report.sends.acknowledged, report.sends.unknown) == (MESSAGES, 1)
    assert report.duplicates[Cause.RESENT] == copies


async def test_batch_without_an_answer_is_resent_whole() -> None:
    decide = once("sendmessagebatch", Mishap.UNANSWERED, 2)
    result, _ = await ran(decide, send_batch=5, resend=True)
    report = only(result).report
    assert not result.failed
    assert report.duplicates[Cause.RESENT] == 5


async def test_entry_of_a_batch_without_an_answer_is_unknown() -> None:
    result, _ = await ran(once("sendmessagebatch", Mishap.LEFT_OUT, 2), send_batch=5)
    report = only(result).report
    assert not result.failed
    assert (report.sends.acknowledged, report.sends.unknown) == (MESSAGES - 1, 1)


async def test_settle_without_an_answer_leaves_no_doubt_about_the_message() -> None:
    result, _ = await ran(once("deletemessagebatch", Mishap.UNANSWERED, 2), lease_seconds=1)
    report = only(result).report
    assert not result.failed
    assert report.settles.unknown > 0
    assert report.received == MESSAGES


async def test_messages_of_a_lost_answer_are_received_after_their_lease() -> None:
    decide = once("receivemessage", Mishap.UNANSWERED, 3)
    result, _ = await ran(decide, phases=Phases.APART, lease_seconds=1)
    assert not result.failed
    assert only(result).report.received == MESSAGES


async def test_receiver_that_quits_starts_again_and_its_messages_are_redelivered() -> None:
    asked: list[int] = []

    def second(receiver: int) -> bool:
        asked.append(receiver)
        return len(asked) == 2

    result, _ = await ran(quits=second, receive_batch=5, lease_seconds=1)
    report = only(result).report
    assert not result.failed
    assert only(result).quits == 1
    assert report.duplicates[Cause.TIMED_OUT] >= 1
    assert report.left == 0


async def test_quitting_by_chance_goes_by_the_seed() -> None:
    # One receiver needs at least eight receives.
    result, _ = await ran(
        quit_probability=0.3, receivers=1, receive_batch=5, seed=1, lease_seconds=1
    )
    assert not result.failed
    assert only(result).quits > 0


async def test_function_that_decides_who_quits_needs_one_process() -> None:
    with pytest.raises(PlanInvalid, match="processes must be 1"):
        await ran(quits=lambda _: False, processes=2)


async def test_error_of_our_own_ends_the_run_and_is_raised() -> None:
    def broken(_: int) -> bool:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await ran(quits=broken)


async def test_service_that_goes_away_ends_the_run_with_the_reason() -> None:
    def gone(operation: str, number: int) -> Mishap:
        return Mishap.DROPPED if operation == "sendmessage" and number > 5 else Mishap.NONE

    result, _ = await ran(gone, outage_ms_max=100, resend=True)
    assert result.failed
    assert result.failure is not None
    assert "no success for" in result.failure
    # Acknowledged messages may still be in the queue.
    assert not only(result).report.failed


async def test_queue_that_cannot_be_made_is_an_error() -> None:
    with pytest.raises(Refused):
        await ran(once("createqueue", Mishap.FAILED, 1))
    nobody = Endpoint("http://127.0.0.1:1")
    with pytest.raises(Unreachable):
        await run(plan(nobody))


async def test_queue_that_cannot_be_removed_is_reported_and_fails_nothing_else() -> None:
    result, service = await ran(
        lambda asked, _: Mishap.FAILED if asked == "deletequeue" else Mishap.NONE
    )
    assert not result.failed
    assert [url.rpartition("/")[2] for url in result.leftovers] == ["test-1-0"]
    assert service.asked["deletequeue"] == 1


async def test_stopped_run_reports_what_was_done_without_violations() -> None:
    stop, live = asyncio.Event(), Live()
    async with serving() as (service, endpoint):
        slow = plan(endpoint, send_pause_ms=5, phases=Phases.APART, messages=10_000)
        running = asyncio.create_task(run(slow, stop=stop, live=live))
        while service.asked["sendmessage"] < 6:
            await asyncio.sleep(0.001)
        stop.set()
        result = await running
        assert service.queues == {}
    assert result.interrupted
    assert not result.failed
    assert only(result).report.sends.acknowledged >= 5


async def test_sending_for_a_time_ends_by_itself() -> None:
    result, _ = await ran(messages=None, seconds_max=2.0)
    done = only(result)
    assert not result.failed
    assert done.sends.messages == done.settles.messages > 0


async def test_repetitions_have_queues_journals_and_figures_of_their_own(tmp_path: Path) -> None:
    async with serving() as (service, endpoint):
        result = await run(plan(endpoint, repetitions=3), journals=tmp_path / "kept")
        assert service.asked["createqueue"] == 3
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == ["1", "2", "3"]
    rate = result.figures["send rate"]
    assert rate.low <= rate.median <= rate.high


async def test_clients_are_dealt_to_processes(tmp_path: Path) -> None:
    async with serving() as (_, endpoint):
        result = await run(plan(endpoint, processes=2), journals=tmp_path / "kept")
    assert not result.failed
    assert only(result).report.messages == MESSAGES
    names = sorted(path.name for path in (tmp_path / "kept/1").iterdir())
    assert names == [f"{number}-{kind}.journal" for number in (0, 1) for kind in _KINDS]


_KINDS = ("receivers", "senders")


async def test_worker_is_sending_until_its_senders_have_ended_also_before_they_start(
    tmp_path: Path,
) -> None:
    async with serving() as (service, endpoint):
        service.queues["url"] = {}
        worker = Worker(Share(plan(endpoint, messages=1), 1, 0, ("url",), str(tmp_path), 0))
        told = [news.sending for news in worker.news()]
        worker.begin("send", 0)
        told += [news.sending for news in worker.news()]
        while worker.news()[0].sending:
            await asyncio.sleep(0.001)
        assert (await worker.stop()).sends.messages == 2
    assert told == [True, True]


async def test_messages_of_others_are_left_alone_and_counted() -> None:
    async with serving() as (service, endpoint):
        running = asyncio.create_task(run(plan(endpoint, messages=200)))
        while not service.queues:
            await asyncio.sleep(0)
        (url,) = service.queues
        service.put(url, "not of this run")
        result = await running
    assert not result.failed
    assert only(result).foreign >= 1


async def test_warm_up_is_left_out_of_rates_but_not_of_the_account() -> None:
    result, _ = await ran(warm_up_ms=60_000)
    done = only(result)
    assert (done.sends.rate, done.sends.times.count) == (0, 0)
    assert done.sends.messages == done.report.received == MESSAGES


async def test_clients_of_several_endpoints_go_on_at_the_next_when_theirs_fails() -> None:
    nobody = Endpoint("http://127.0.0.1:1")
    async with serving(never) as (service, endpoint):
        spread = plan(nobody, setup=endpoint, further_endpoints=(endpoint,), resend=True)
        result = await run(spread)
    done = only(result)
    assert not result.failed
    assert done.report.received == MESSAGES
    # The first sender and the first receiver began where nobody is.
    assert done.failures == {"receive: Unconnected": 1, "send: Unconnected": 1}
    assert service.queues == {}
