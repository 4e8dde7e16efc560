"""
The client against a real control plane with a fake engine.
"""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta

import pytest

from standfast.client import (
    AsyncClient,
    CannotCome,
    Client,
    Conflict,
    Invalid,
    JobCancelled,
    JobFailed,
    KeyReused,
    NotFound,
    Spec,
    WaitTimeout,
)
from standfast.testing.server import FakeServer


def test_a_job_runs_to_its_end_and_gives_its_result(sf: Client) -> None:
    """
    run returns a durable job, wait its final phase, result the view itself.
    """
    job = sf.jobs.run(Spec.fake(run_s=0.3, name="ok", labels={"team": "a"}))
    done = job.wait(timeout=20)

    assert job.uid == done.uid
    assert done.phase == "succeeded" and done.result() is done
    assert done.attempt is not None and done.attempt.number == 1
    assert done.why.reason == "Succeeded" and done.next is None
    assert [a.ending for a in done.attempts()] == ["succeeded"]
    assert {e.claim for e in done.evidence()} >= {"outcome", "gone"}
    assert [e.type for e in done.events()] == ["Submitted", "LaunchBegun", "Started", "Succeeded"]


def test_a_failed_job_is_a_value_until_its_result_is_asked_for(sf: Client) -> None:
    """
    wait returns a failed job; result raises, with the job inside.
    """
    done = sf.jobs.run(Spec.fake(ending="failed", exit_code=3, name="bad")).wait(timeout=20)

    assert done.phase == "failed"
    with pytest.raises(JobFailed) as caught:
        done.result()
    assert caught.value.job is done


def test_the_same_key_is_the_same_job(sf: Client) -> None:
    """
    A key with the same body finds the job, with another body it is refused, naming both digests.
    """
    first = sf.jobs.run(Spec.fake(name="once", run_s=0.0), key="key-once")
    again = sf.jobs.run(Spec.fake(name="once", run_s=0.0), key="key-once")
    with pytest.raises(KeyReused) as caught:
        sf.jobs.run(Spec.fake(name="once", run_s=1.0), key="key-once")

    assert (first.replayed, again.replayed) == (False, True)
    assert again.uid == first.uid
    assert caught.value.code == "idempotency_key_reused" and caught.value.hint
    assert {"stored_digest", "given_digest"} <= set(caught.value.document)


def test_a_wrong_spec_names_every_field(sf: Client) -> None:
    """
    Refused with pointers; nothing is stored, and the key is not used up.
    """
    with pytest.raises(Invalid) as caught:
        sf.jobs.run(Spec.fake(name="Bad Name", priority=5000), key="unused")
    job = sf.jobs.run(Spec.fake(name="good"), key="unused")

    assert {e.pointer for e in caught.value.errors} >= {"/name", "/spec/priority"}
    assert caught.value.retry == "after_fix"
    assert not job.replayed


def test_wait_gives_up_at_once_when_the_state_can_no_longer_come(sf: Client) -> None:
    """
    A failed job will never run, so nobody waits for that.
    """
    done = sf.jobs.run(Spec.fake(ending="failed", name="never")).wait(timeout=20)
    begun = time.monotonic()
    with pytest.raises(CannotCome) as caught:
        done.wait(until="running", timeout=60)

    assert time.monotonic() - begun < 1
    assert caught.value.job.phase == "failed"


def test_a_wait_that_times_out_leaves_the_job_alone(sf: Client) -> None:
    """
    The timeout is a TimeoutError that says the job goes on, and it does.
    """
    job = sf.jobs.run(Spec.fake(run_s=60, name="long")).wait(until="running", timeout=20)
    with pytest.raises(WaitTimeout) as caught:
        job.wait(timeout=0.2)

    assert isinstance(caught.value, TimeoutError)
    assert "goes on" in (caught.value.hint or "")
    assert job.refresh().phase == "running"
    assert job.cancel().wait(timeout=20).phase == "cancelled"


def test_cancel_is_done_when_the_phase_says_so(sf: Client) -> None:
    """
    cancel returns at once, the end comes later, and a second cancel of the ended job is refused.
    """
    job = sf.jobs.run(Spec.fake(run_s=60, name="stopme")).wait(until="running", timeout=20)
    after = job.cancel(reason="wrong day")
    done = after.wait(timeout=20)

    assert done.phase == "cancelled" and "wrong day" in done.why.message
    with pytest.raises(JobCancelled):
        done.result()
    with pytest.raises(Conflict):
        done.suspend()


def test_suspend_and_resume(sf: Client) -> None:
    """
    A suspended job holds until resumed, then makes another attempt.
    """
    job = sf.jobs.run(Spec.fake(run_s=60, name="pause")).wait(until="running", timeout=20)
    held = job.suspend().wait(until="suspended", timeout=20)
    running = held.resume().wait(until="running", timeout=20)

    assert running.attempt is not None and running.attempt.number == 2
    running.cancel().wait(timeout=20)


def test_retry_makes_a_new_job_and_delete_removes_the_old(sf: Client) -> None:
    """
    A finished job is never opened again.
    """
    first = sf.jobs.run(Spec.fake(name="again")).wait(timeout=20)
    second = first.retry(changes={"priority": 7}).wait(timeout=20)
    first.delete()

    assert second.snapshot.retry_of == first.uid and second.snapshot.spec["priority"] == 7
    with pytest.raises(NotFound):
        sf.jobs.get(first.uid)


def test_lists_are_lazy_and_filtered(sf: Client) -> None:
    """
    Pages are fetched as they are looked at; filters and limits hold.
    """
    made = {sf.jobs.run(Spec.fake(name=f"list-{n}", labels={"set": "list"})).uid for n in range(5)}
    pages = list(sf.jobs.list(labels={"set": "list"}, page_size=2).pages())

    assert [len(page) for page in pages] == [2, 2, 1]
    assert {job.uid for page in pages for job in page} == made
    assert pages[0].watch_cursor is not None
    assert len(list(sf.jobs.list(labels={"set": "list"}, limit=3))) == 3
    assert [job.name for job in sf.jobs.list(name="list-3")] == ["list-3"]


def test_plan_stores_nothing(sf: Client) -> None:
    """
    A plan shows the exact call and leaves no job.
    """
    planned = sf.jobs.plan(Spec.fake(name="planned", run_s=1))

    assert planned.engine_call and planned.job is not None and planned.job.name == "planned"
    assert list(sf.jobs.list(name="planned")) == []


def test_logs_follow_across_attempts(sf: Client) -> None:
    """
    Each line once, tagged with its attempt, until the job is final.
    """
    spec = Spec.fake(name="chatty", output="one\ntwo\n", fails=1, retries=1, run_s=0.2)
    spec = spec.changed(
        retry=spec.work.retry.__class__(max_attempts=2, backoff_base_s=0.1, on=("user_error", "unknown"))
    )
    job = sf.jobs.run(spec)
    lines = [(line.attempt, line.text) for line in job.logs(follow=True)]

    assert job.refresh().phase == "succeeded"
    assert lines == [(1, "one"), (1, "two"), (2, "one"), (2, "two")]
    assert [line.text for line in job.logs(attempt=1, tail=1)] == ["two"]


def test_watch_misses_nothing_after_a_list(sf: Client) -> None:
    """
    From a page's cursor on, every event comes once and in order.
    """
    cursor = next(iter(sf.jobs.list(page_size=1).pages())).watch_cursor
    job = sf.jobs.run(Spec.fake(name="watched", run_s=0.3))
    seen = []
    for event in sf.watch(cursor=cursor):
        if event.uid == job.uid:
            seen.append((event.type, event.seq))
            if event.type == "Succeeded":
                break

    assert [kind for kind, _ in seen] == ["Submitted", "LaunchBegun", "Started", "Succeeded"]
    assert sorted(seq for _, seq in seen) == [seq for _, seq in seen]


async def test_the_async_client_does_the_same(server: FakeServer) -> None:
    """
    Many at once, waited for, listed, watched.
    """
    async with AsyncClient(server.url) as sf:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(sf.jobs.run(Spec.fake(name=f"async-{n}"))) for n in range(5)]
        done = [await task.result().wait(timeout=20) for task in tasks]
        names = {job.name async for job in sf.jobs.list(name_prefix="async-")}
        lines = [line async for line in done[0].logs(follow=True)]
        events = [event.type async for event in done[0].events(follow=True)]

    assert {job.phase for job in done} == {"succeeded"}
    assert names == {f"async-{n}" for n in range(5)}
    assert lines == []
    assert events[0] == "Submitted" and events[-1] == "Succeeded"


def test_uncertain_is_told_alike_everywhere(sf: Client) -> None:
    """
    A lost reply makes the job uncertain; view and explanation give the same reason, and what would settle it.
    """
    job = sf.jobs.run(Spec.fake(name="unsure", accept="lose_request", run_s=60)).wait(until="uncertain", timeout=20)
    told = job.explain()

    assert told.why.reason == job.refresh().why.reason
    assert told.settles
    job.cancel()


def test_the_wait_that_is_over_is_the_one_that_was_asked_for(sf: Client) -> None:
    """
    The error names the caller's own number of seconds; a number that is no time is refused before anything is asked.
    """
    job = sf.jobs.run(Spec.fake(run_s=60, name="patient"))
    with pytest.raises(WaitTimeout, match=r"is still \w+ after 0\.25s$"):
        job.wait(timeout=0.25)
    for wrong in (-1.0, float("nan")):
        with pytest.raises(ValueError, match="timeout"):
            job.wait(timeout=wrong)
    job.cancel()


def test_history_since_a_time_begins_there(sf: Client) -> None:
    """
    Of everything that ever happened only what came since, from any instant, without gap; and none from the future.
    """
    jobs = [sf.jobs.run(Spec.fake(name="past")).wait(timeout=20) for _ in range(3)]
    everything = list(sf.history())
    middle = next(event for event in everything if event.uid == jobs[1].uid)

    assert [event.seq for event in everything] == sorted({event.seq for event in everything})
    for moment in (everything[0].at, middle.at, everything[-1].at):
        assert list(sf.history(since=moment)) == [event for event in everything if event.at >= moment]
    assert list(sf.history(since=everything[-1].at + timedelta(hours=1))) == []
    assert list(sf.history(after=middle.seq)) == [event for event in everything if event.seq > middle.seq]


async def test_the_async_history_is_the_same(server: FakeServer, sf: Client) -> None:
    """
    Both clients find the same place.
    """
    sf.jobs.run(Spec.fake(name="past")).wait(timeout=20)
    last = list(sf.history())[-1]
    async with AsyncClient(server.url) as other:
        assert [event.seq async for event in other.history(since=last.at)][-1] == last.seq
        assert await other.cursor_at(last.at) == sf.cursor_at(last.at)
