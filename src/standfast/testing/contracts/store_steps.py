"""
The store contract: what a step changes, who wins, and the events that tell of it.
"""

from __future__ import annotations

import asyncio

import msgspec

from standfast.core.job import events as e
from standfast.core.job.inputs import Admit, Cancel, Due, Resume, Suspend
from standfast.core.job.machine import step
from standfast.core.job.state import Job, Phase
from standfast.ports.store import Lost, Query, StoredEvent, Taken
from standfast.testing import builders
from standfast.testing.contracts.cases import Cases, counts_by_phase, desk_at
from standfast.testing.contracts.histories import Subject, uid_of

CASES = Cases()


@CASES.case
async def a_committed_job_is_loaded_as_it_was_answered(subject: Subject) -> None:
    """
    `load` gives each committed job, whole, in the order asked for; unknown uids are left out.
    """
    async with desk_at(subject) as desk:
        first = await desk.finished(program={"argv": ["true", "ü"], "n": 1}, queue="night")
        second = await desk.launched()
        assert await desk.store.load([second.uid, "job_unknown", first.uid]) == [second, first]
        assert await desk.store.load([]) == []


@CASES.case
async def a_step_from_an_old_revision_loses(subject: Subject) -> None:
    """
    The second of two steps from one revision is `Lost`, and nothing of it is written: no row, no event, no counter.
    """
    async with desk_at(subject) as desk:
        job = await desk.submitted()
        now = desk.clock.pass_s(1)
        won, lost = step(job, Cancel(by="ann"), now), step(job, Suspend(by="bob"), now)
        assert await desk.store.commit([won]) == [won.after]
        assert await desk.store.commit([lost]) == [Lost(job.uid)]
        assert await desk.store.load([job.uid]) == [won.after]
        assert [type(one.event) for one in await desk.store.events()] == [e.Submitted, e.Cancelled]
        assert counts_by_phase(await desk.store.slots()) == {"cancelled": 1}


@CASES.case
async def a_step_of_an_unknown_job_loses(subject: Subject) -> None:
    """
    A step of a job that is not there is `Lost`.
    """
    async with desk_at(subject) as desk:
        opening = desk.opening()
        move = step(opening.after, Cancel(by="ann"), desk.clock.now())
        assert await desk.store.commit([move]) == [Lost(opening.after.uid)]
        assert await desk.store.newest_seq() == 0


@CASES.case
async def a_taken_request_id_answers_with_its_job(subject: Subject) -> None:
    """
    A second job with the same namespace and request id is not made; the answer is the first one as it is now.
    """
    async with desk_at(subject) as desk:
        job = await desk.launched(request_id="same")
        again = desk.opening(request_id="same", priority=7)
        assert await desk.store.commit([again]) == [Taken(job)]
        assert await desk.store.load([again.after.uid]) == []
        assert await desk.store.newest_seq() == 2
        elsewhere = builders.submit(uid=uid_of(77), request_id="same", namespace="science")
        assert (await desk.sent(elsewhere)).namespace == "science"


@CASES.case
async def a_request_id_taken_in_the_same_call_is_taken(subject: Subject) -> None:
    """
    Two openings with one request id in one call make one job, and both answers name it.
    """
    async with desk_at(subject) as desk:
        first, second = desk.opening(request_id="same"), desk.opening(request_id="same")
        assert await desk.store.commit([first, second]) == [first.after, Taken(first.after)]
        assert len((await desk.store.page(Query(), size=10)).jobs) == 1


@CASES.case
async def a_known_uid_makes_no_second_job(subject: Subject) -> None:
    """
    An opening under a known uid with another request id is `Lost`, and the job is as it was.
    """
    async with desk_at(subject) as desk:
        job = await desk.submitted()
        assert await desk.store.commit([desk.opening(uid=job.uid, request_id="other")]) == [Lost(job.uid)]
        assert await desk.store.load([job.uid]) == [job]
        assert await desk.store.find("default", "other") is None


@CASES.case
async def fifty_callers_with_one_request_id_make_one_job(subject: Subject) -> None:
    """
    Of fifty concurrent openings with one request id exactly one wins, and the others are answered with its job.
    """
    async with desk_at(subject) as desk:
        openings = [desk.opening(request_id="same") for _ in range(50)]
        answers = await asyncio.gather(*(desk.store.commit([one]) for one in openings))
        won = [answer for (answer,) in answers if isinstance(answer, Job)]
        assert len(won) == 1
        assert [answer for (answer,) in answers if not isinstance(answer, Job)] == [Taken(won[0])] * 49
        assert await desk.store.newest_seq() == 1


@CASES.case
async def fifty_callers_with_one_job_move_it_once(subject: Subject) -> None:
    """
    Of fifty concurrent steps from one revision exactly one wins; the others are `Lost`.
    """
    async with desk_at(subject) as desk:
        job = await desk.submitted()
        moves = [step(job, Cancel(by=f"caller-{n}"), desk.clock.now()) for n in range(50)]
        answers = [answer for (answer,) in await asyncio.gather(*(desk.store.commit([one]) for one in moves))]
        assert sum(isinstance(answer, Job) for answer in answers) == 1
        assert answers.count(Lost(job.uid)) == 49
        assert (await desk.store.load([job.uid]))[0].revision == 2


@CASES.case
async def steps_of_one_call_follow_one_another(subject: Subject) -> None:
    """
    A job may be made and moved on in one call; each step of it wins or loses by itself.
    """
    async with desk_at(subject) as desk:
        opening, other = desk.opening(), desk.opening()
        launch = step(opening.after, Admit(incarnation=builders.LIFE), desk.clock.now())
        late = step(opening.after, Cancel(by="ann"), desk.clock.now())
        answers = await desk.store.commit([opening, launch, late, other])
        assert answers == [opening.after, launch.after, Lost(opening.after.uid), other.after]
        assert await desk.store.commit([]) == []


@CASES.case
async def a_step_that_builds_on_a_loser_loses(subject: Subject) -> None:
    """
    Two steps in a row of one job, the first from an old revision: the second loses too, though the revision it builds
    on is by now the stored one, reached by another way.
    """
    async with desk_at(subject) as desk:
        job = await desk.submitted()
        launched = await desk.told(job, Admit(incarnation=builders.LIFE))
        held = step(job, Suspend(by="ann"), desk.clock.now())
        resumed = step(held.after, Resume(by="ann"), desk.clock.now())
        assert held.after.revision == launched.revision
        assert await desk.store.commit([held, resumed]) == [Lost(job.uid), Lost(job.uid)]
        assert await desk.store.load([job.uid]) == [launched]
        assert counts_by_phase(await desk.store.slots()) == {"launching": 1}


@CASES.case
async def a_step_without_events_moves_the_wake_time_only(subject: Subject) -> None:
    """
    It writes no event and no revision, so a step computed before it still wins; the stored job has the new wake time.
    """
    async with desk_at(subject) as desk:
        job = await desk.launched()
        now = desk.clock.pass_s(60)
        later = step(job, Due(), now)
        assert not later.events and later.after.wake_at != job.wake_at
        assert await desk.store.commit([later]) == [later.after]
        assert await desk.store.load([job.uid]) == [later.after]
        assert await desk.store.newest_seq() == 2
        assert (await desk.store.due(now, limit=10)).next_at == later.after.wake_at
        won = await desk.commit(step(job, builders.present(now), now))
        assert won.phase is Phase.RUNNING
        assert await desk.store.commit([later]) == [Lost(job.uid)]


@CASES.case
async def events_carry_one_global_sequence(subject: Subject) -> None:
    """
    Numbers grow without a gap over all jobs; revisions, times, actors and the events are as they were committed.
    """
    async with desk_at(subject) as desk:
        first, second = desk.opening(suspend=True), desk.opening()
        resume = step(first.after, Resume(by="ann"), desk.clock.pass_s(1), actor="ann")
        await desk.store.commit([first, second, resume])
        found = await desk.store.events()
        assert [one.seq for one in found] == [1, 2, 3, 4]
        assert [(one.uid, one.revision) for one in found] == [
            (first.after.uid, 1),
            (first.after.uid, 2),
            (second.after.uid, 1),
            (first.after.uid, 3),
        ]
        assert [one.at for one in found] == [first.at, first.at, second.at, resume.at]
        assert [one.actor for one in found] == ["standfast", "standfast", "standfast", "ann"]
        assert [one.event for one in found][1:2] + [one.event for one in found][3:] == [
            *first.events[1:],
            *resume.events,
        ]
        assert isinstance(found[0].event, e.Submitted) and found[0].event.spec is None
        assert msgspec.structs.replace(found[0].event, spec=first.after.spec) == first.events[0]
        assert await desk.store.newest_seq() == 4


@CASES.case
async def events_are_read_behind_a_number(subject: Subject) -> None:
    """
    `after`, `uid`, `namespace` and `limit` pick events; all four together too.
    """
    async with desk_at(subject) as desk:
        ours = await desk.finished()
        await desk.sent(builders.submit(uid=uid_of(50), namespace="science", request_id="r"))
        other = await desk.submitted()
        assert [one.seq for one in await desk.store.events(after=4)] == [5, 6]
        assert [one.seq for one in await desk.store.events(limit=2)] == [1, 2]
        assert [one.seq for one in await desk.store.events(uid=ours.uid, after=1, limit=2)] == [2, 3]
        assert [one.seq for one in await desk.store.events(uid=other.uid)] == [6]
        assert [one.seq for one in await desk.store.events(namespace="science")] == [5]
        assert [one.seq for one in await desk.store.events(namespace="default", after=3, limit=2)] == [4, 6]
        assert [one.seq for one in await desk.store.events(namespace="default", uid=uid_of(50))] == []
        assert await desk.store.events(uid="job_unknown") == []
        assert await desk.store.events(after=6) == []


@CASES.case
async def an_event_read_is_never_followed_by_a_lower_number(subject: Subject) -> None:
    """
    A reader that continues behind the highest number it saw misses nothing, whatever is committed meanwhile; and the
    newest number never promises an event that cannot be read.
    """
    async with desk_at(subject) as desk:
        writing = [asyncio.ensure_future(desk.store.commit([desk.opening(), desk.opening()])) for _ in range(60)]
        seen: list[StoredEvent] = []
        while len(seen) < 120:
            newest = await desk.store.newest_seq()
            seen += await desk.store.events(after=seen[-1].seq if seen else 0, limit=7)
            assert bool(seen) or newest == 0
            await asyncio.sleep(0)
        await asyncio.gather(*writing)
        assert [one.seq for one in seen] == list(range(1, 121))
        assert seen == await desk.store.events(limit=500)
