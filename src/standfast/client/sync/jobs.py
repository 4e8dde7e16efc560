"""
Everything about jobs for the blocking client: questions and commands in the order they are asked.

Belongs here: lists, waiting, following. Not here: what is asked (`calls`), HTTP (`transport`).
"""

from __future__ import annotations

import builtins
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from standfast.client import answers, calls, following, showing
from standfast.client.calls import uid_of
from standfast.client.errors import CannotCome, NotFound, Unavailable, WaitTimeout
from standfast.client.goals import DONE, Prospect, prospect
from standfast.client.spec import Spec
from standfast.client.sync.view import JobView
from standfast.client.transport import fresh_key

if TYPE_CHECKING:
    from standfast.client.sync.client import Client

T = TypeVar("T")

HOLD_S = 20.0
"""How long one question for a change is held by the server before it is asked anew."""

EVENTS_AT_ONCE = 500
"""Events in one answer."""


class JobPage(Sequence[JobView]):
    """
    One page of jobs. watch_cursor: where to watch from, so that nothing between list and watch is missed.
    """

    def __init__(self, jobs: Sequence[JobView], watch_cursor: str | None) -> None:
        self._jobs = tuple(jobs)
        self.watch_cursor = watch_cursor

    def __getitem__(self, index: Any) -> Any:
        return self._jobs[index]

    def __len__(self) -> int:
        return len(self._jobs)


class JobList:
    """
    Jobs that fit a filter, newest first, fetched page by page as they are looked at.
    """

    def __init__(self, client: Client, filters: Mapping[str, Any], limit: int | None) -> None:
        self._client = client
        self._filters = dict(filters)
        self._limit = limit

    def pages(self) -> Iterator[JobPage]:
        """
        Page by page.
        """
        token: str | None = None
        while True:
            page = self._client._transport.send(calls.list_jobs(**self._filters, page_token=token))
            yield JobPage([JobView(self._client, job) for job in page.items], page.watch_cursor)
            token = page.next_page_token
            if not token:
                return

    def __iter__(self) -> Iterator[JobView]:
        left = self._limit
        for page in self.pages():
            for job in page:
                yield job
                if left is not None:
                    left -= 1
                    if left <= 0:
                        return


class Jobs:
    """
    Everything about jobs. A job is given as a view or as its uid.
    """

    def __init__(self, client: Client) -> None:
        self._client = client

    def run(self, spec: Spec, *, key: str | None = None) -> JobView:
        """
        Submit the work, once, and return when it is durable.

        Args:
            spec: What to run.
            key: Request id: the same one never makes a second job. None: `spec.key`, or a fresh one.

        Raises:
            NoAnswer: Not known whether it was accepted; `request_id` says with which key to ask again.
            Invalid: Every wrong field; nothing was stored. KeyReused: The key made another job.
        """
        request_id = key or spec.key or fresh_key()
        made = self._send(calls.submit(spec, namespace=self._client.namespace, key=request_id))
        return JobView(self._client, made.job, replayed=made.replayed)

    def plan(self, spec: Spec) -> answers.Plan:
        """
        What `run` would do: all of its checks and the exact call to the engine. Nothing is stored or sent.
        """
        return self._send(calls.plan(spec, namespace=self._client.namespace))

    def get(self, uid: str) -> JobView:
        """
        The job of that uid.

        Raises:
            NotFound: There is none.
        """
        return self._view(calls.get_job(uid))

    def list(
        self,
        *,
        namespace: str | None = None,
        phase: Sequence[str] = (),
        engine: Sequence[str] = (),
        labels: Mapping[str, str] | None = None,
        name: str | None = None,
        name_prefix: str | None = None,
        queue: str | None = None,
        created_after: datetime | None = None,
        page_size: int | None = None,
        limit: int | None = None,
    ) -> JobList:
        """
        Jobs that fit everything given, newest first, fetched as they are looked at.

        Args:
            namespace: None: the client's own; "": every one.
            phase: Phases, any of them; with `!` before one: not that.
            engine: Engines, any of them.
            labels: All of them.
            name, name_prefix, queue: As said.
            created_after: Aware time.
            page_size: 1..1000 jobs for each question; None: 100.
            limit: Jobs in all; None: every one.
        """
        filters = {
            "namespace": self._client.namespace if namespace is None else namespace,
            "phase": phase,
            "engine": engine,
            "labels": labels,
            "name": name,
            "name_prefix": name_prefix,
            "queue": queue,
            "created_after": created_after,
            "page_size": page_size,
        }
        return JobList(self._client, filters, limit)

    def wait(self, job: JobView | str, *, until: str = DONE, timeout: float | None = None) -> JobView:
        """
        The job once it is `done` (any final phase), or in the phase named.

        Args:
            job: View or uid.
            until: `done` or a phase.
            timeout: Seconds; None: as long as it takes.

        Raises:
            CannotCome: No way leads from where it is to that phase; found out at once, not at the end of the timeout.
            WaitTimeout: (a TimeoutError) The time is over, the job goes on.
            ValueError: `until` is no phase, or `timeout` is no time.
        """
        if timeout is not None and not timeout >= 0:
            raise ValueError(f"timeout must be 0 seconds or more, not {timeout}")
        view = self.get(job) if isinstance(job, str) else job.refresh()
        begun = time.monotonic()
        while True:
            stands = prospect(until, view.phase)
            if stands is Prospect.REACHED:
                return view
            if stands is Prospect.IMPOSSIBLE:
                raise CannotCome(f"{view.uid} is {view.phase}, so it will never be {until}", view)
            left_s = HOLD_S if timeout is None else timeout - (time.monotonic() - begun)
            if left_s <= 0:
                raise WaitTimeout.of(view, timeout or 0.0)
            view = self._changed(view, min(HOLD_S, left_s), None if timeout is None else left_s)

    def follow(self, job: JobView | str, *, show: showing.Show | None = None, timeout: float | None = None) -> JobView:
        """
        The job once it is final, shown as it is now and again whenever something happens to it.

        In a notebook one output cell is kept up to date; elsewhere each change is a line on stderr. An interrupt ends
        the showing, not the job.

        Args:
            job: View or uid.
            show: Called with each view instead.
            timeout: Seconds; None: as long as it takes.

        Raises:
            WaitTimeout: (a TimeoutError) The time is over, the job goes on.
            ValueError: `timeout` is no time.
        """
        if timeout is not None and not timeout >= 0:
            raise ValueError(f"timeout must be 0 seconds or more, not {timeout}")
        show = show or showing.here()
        view = self.get(uid_of(job))
        begun = time.monotonic()
        shown = None
        while True:
            if view.revision != shown:
                show(view)
                shown = view.revision
            if view.final:
                return view
            left_s = HOLD_S if timeout is None else timeout - (time.monotonic() - begun)
            if left_s <= 0:
                raise WaitTimeout.of(view, timeout or 0.0)
            view = self._changed(view, min(HOLD_S, left_s), None if timeout is None else left_s)

    def changed(self, job: JobView, *, timeout: float = HOLD_S) -> JobView:
        """
        The job once anything happened to it since this view, or as it is after `timeout` seconds.
        """
        return self._changed(job, timeout, None)

    def cancel(self, job: JobView | str, *, reason: str | None = None) -> JobView:
        """
        Ask for the job's end; returns when that is durable. It has ended when its phase says so.

        Raises:
            Conflict: It has ended already.
        """
        return self._command(job, "cancel", {"reason": reason})

    def suspend(self, job: JobView | str, *, reason: str | None = None) -> JobView:
        """
        Ask that what runs of the job be stopped, and nothing started until it is resumed.

        Raises:
            Conflict: Its phase does not allow it.
        """
        return self._command(job, "suspend", {"reason": reason})

    def resume(self, job: JobView | str) -> JobView:
        """
        Let a suspended job wait for its turn again.

        Raises:
            Conflict: It is not suspended.
        """
        return self._command(job, "resume", {})

    def resolve(self, job: JobView | str, answer: str, *, because: str, outcome: str | None = None) -> JobView:
        """
        Settle an uncertain job by a person's word, recorded with who and why.

        Args:
            job: View or uid.
            answer: `absent` (nothing of the attempt is alive), `present` (it runs) or `done` (it ended).
            because: How the person knows.
            outcome: With `done`: `succeeded`, `failed` or `cancelled`.

        Raises:
            Conflict: It is not uncertain.
        """
        return self._command(job, "resolve", {"answer": answer, "because": because, "outcome": outcome})

    def retry(self, job: JobView | str, *, changes: Mapping[str, Any] | None = None, key: str | None = None) -> JobView:
        """
        A new job like the finished one, with `retry_of`; a finished job is never opened again.

        Args:
            job: View or uid.
            changes: Merged into the spec as a JSON merge patch.
            key: Request id of the new job; None: a fresh one.

        Raises:
            Conflict: It is not finished. Invalid: The changes do not fit.
        """
        made = self._send(calls.retry(uid_of(job), changes, key=key or fresh_key()))
        return JobView(self._client, made.job, replayed=made.replayed)

    def delete(self, job: JobView | str) -> None:
        """
        Remove a finished job for good, with its output, evidence and events.

        Raises:
            Conflict: It is not finished.
        """
        self._send(calls.delete(uid_of(job)))

    def attempts(self, job: JobView | str) -> builtins.list[answers.Attempt]:
        """
        Every attempt at the job, oldest first.
        """
        return self._send(calls.attempts(uid_of(job)))

    def evidence(self, job: JobView | str) -> builtins.list[answers.Evidence]:
        """
        What the claims about the job rest on, in the order it was found.
        """
        return self._send(calls.evidence(uid_of(job)))

    def explain(self, job: JobView | str) -> answers.Explanation:
        """
        Why the job is as it is, what is known, and what would settle the rest.
        """
        return self._send(calls.explain(uid_of(job)))

    def events(self, job: JobView | str, *, follow: bool = False, after: int = 0) -> Iterator[answers.Event]:
        """
        What happened to the job, in order.

        Args:
            job: View or uid.
            follow: Go on until the job is final, over broken lines, without gap or double.
            after: Number of the event to begin behind.
        """
        view = self.get(uid_of(job)) if follow else None
        seq = after
        while True:
            page = self._send(calls.events(uid_of(job), after=seq, limit=EVENTS_AT_ONCE))
            for event in page.items:
                yield event
                seq = event.seq
            if len(page.items) == EVENTS_AT_ONCE or (page.items and follow):
                continue
            if view is None or view.final:
                return
            view = self.changed(view)

    def logs(
        self,
        job: JobView | str,
        *,
        attempt: int | None = None,
        stream: str = "stdout",
        follow: bool = False,
        tail: int | None = None,
    ) -> Iterator[following.LogLine]:
        """
        Lines of output of one attempt, or of the latest and all that follow it.

        Args:
            job: View or uid.
            attempt: Only this one; None: the latest, and with `follow` every later one too.
            stream: `stdout` or `stderr`.
            follow: Go on until the job is final, across attempts and broken lines. The end of a log decides nothing.
            tail: Only the last so many lines of what is there.

        Raises:
            Gone: The output was removed.
        """
        view = self.get(uid_of(job))
        reading = following.Reading(attempt, stream, follow=follow, tail=tail)
        while not reading.done:
            call = reading.next(view.snapshot)
            if call is not None:
                try:
                    chunk = self._send(call)
                except (NotFound, Unavailable) as error:
                    yield from reading.missed(error, view.snapshot)
                else:
                    yield from reading.take(chunk, view.snapshot)
            if reading.must_look:
                view = self.changed(view, timeout=reading.pause_s)

    def _changed(self, job: JobView, hold_s: float, patience_s: float | None) -> JobView:
        return self._view(calls.wait_change(job.uid, revision=job.revision, timeout_s=hold_s, patience_s=patience_s))

    def _command(self, job: JobView | str, verb: str, body: Mapping[str, Any]) -> JobView:
        return self._view(calls.command(uid_of(job), verb, body, key=fresh_key()))

    def _view(self, call: calls.Call[answers.Job]) -> JobView:
        return JobView(self._client, self._send(call))

    def _send(self, call: calls.Call[T]) -> T:
        return self._client._transport.send(call)
