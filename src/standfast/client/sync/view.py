"""
One job for the blocking client: what it looked like, with every question and command at hand.

Belongs here: short ways into `jobs`. Not here: what they ask.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from standfast.client import answers, following, showing
from standfast.client.goals import DONE
from standfast.client.snapshot import Snapshot, success_of

if TYPE_CHECKING:
    pass

if TYPE_CHECKING:
    from standfast.client.sync.client import Client

    _View = Snapshot[Client]
else:
    _View = Snapshot


class JobView(_View):
    """
    A job as it was when last asked about, with every question and command at hand. Never changes; see `refresh`.
    """

    __slots__ = ()

    def refresh(self) -> JobView:
        """
        A new view of the job as it is now.
        """
        return self._client.jobs.get(self.uid)

    def wait(self, *, until: str = DONE, timeout: float | None = None) -> JobView:
        """
        The job once it is `done`, or in the phase named; see `Jobs.wait`.
        """
        return self._client.jobs.wait(self, until=until, timeout=timeout)

    def follow(self, *, show: showing.Show | None = None, timeout: float | None = None) -> JobView:
        """
        The job once it is final, shown here and now; see `Jobs.follow`.
        """
        return self._client.jobs.follow(self, show=show, timeout=timeout)

    def result(self) -> JobView:
        """
        This view, if the job succeeded.

        Raises:
            JobFailed, JobCancelled, JobUncertain: As its phase says. JobNotSucceeded: It has not ended.
        """
        success_of(self)
        return self

    def logs(
        self, *, attempt: int | None = None, stream: str = "stdout", follow: bool = False, tail: int | None = None
    ) -> Iterator[following.LogLine]:
        """
        Lines of output; see `Jobs.logs`.
        """
        return self._client.jobs.logs(self, attempt=attempt, stream=stream, follow=follow, tail=tail)

    def events(self, *, follow: bool = False, after: int = 0) -> Iterator[answers.Event]:
        """
        What happened to the job, in order; see `Jobs.events`.
        """
        return self._client.jobs.events(self, follow=follow, after=after)

    def attempts(self) -> list[answers.Attempt]:
        """
        Every attempt, oldest first.
        """
        return self._client.jobs.attempts(self)

    def evidence(self) -> list[answers.Evidence]:
        """
        What its claims rest on.
        """
        return self._client.jobs.evidence(self)

    def explain(self) -> answers.Explanation:
        """
        What is known, and what would settle the rest.
        """
        return self._client.jobs.explain(self)

    def cancel(self, *, reason: str | None = None) -> JobView:
        """
        Ask for its end; returns when that is durable.
        """
        return self._client.jobs.cancel(self, reason=reason)

    def suspend(self, *, reason: str | None = None) -> JobView:
        """
        Ask that nothing of it run until resumed.
        """
        return self._client.jobs.suspend(self, reason=reason)

    def resume(self) -> JobView:
        """
        Let it wait for its turn again.
        """
        return self._client.jobs.resume(self)

    def resolve(self, answer: str, *, because: str, outcome: str | None = None) -> JobView:
        """
        Settle its doubt by a person's word.
        """
        return self._client.jobs.resolve(self, answer, because=because, outcome=outcome)

    def retry(self, *, changes: Mapping[str, Any] | None = None, key: str | None = None) -> JobView:
        """
        A new job like this finished one.
        """
        return self._client.jobs.retry(self, changes=changes, key=key)

    def delete(self) -> None:
        """
        Remove this finished job for good.
        """
        self._client.jobs.delete(self)
