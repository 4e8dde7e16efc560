"""
One job for the client for asyncio: what it looked like, with every question and command at hand.

Belongs here: short ways into `jobs`. Not here: what they ask.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

from standfast.client import answers, following, showing
from standfast.client.goals import DONE
from standfast.client.snapshot import Snapshot, success_of

if TYPE_CHECKING:
    pass

if TYPE_CHECKING:
    from standfast.client.aio.client import AsyncClient

    _View = Snapshot[AsyncClient]
else:
    _View = Snapshot


class AsyncJobView(_View):
    """
    A job as it was when last asked about, with every question and command at hand. Never changes; see `refresh`.
    """

    __slots__ = ()

    async def refresh(self) -> AsyncJobView:
        """
        A new view of the job as it is now.
        """
        return await self._client.jobs.get(self.uid)

    async def wait(self, *, until: str = DONE, timeout: float | None = None) -> AsyncJobView:
        """
        The job once it is `done`, or in the phase named; see `AsyncJobs.wait`.
        """
        return await self._client.jobs.wait(self, until=until, timeout=timeout)

    async def follow(self, *, show: showing.Show | None = None, timeout: float | None = None) -> AsyncJobView:
        """
        The job once it is final, shown here and now; see `AsyncJobs.follow`.
        """
        return await self._client.jobs.follow(self, show=show, timeout=timeout)

    def result(self) -> AsyncJobView:
        """
        This view, if the job succeeded.

        Raises:
            JobFailed, JobCancelled, JobUncertain: As its phase says. JobNotSucceeded: It has not ended.
        """
        success_of(self)
        return self

    def logs(
        self, *, attempt: int | None = None, stream: str = "stdout", follow: bool = False, tail: int | None = None
    ) -> AsyncIterator[following.LogLine]:
        """
        Lines of output; see `AsyncJobs.logs`.
        """
        return self._client.jobs.logs(self, attempt=attempt, stream=stream, follow=follow, tail=tail)

    def events(self, *, follow: bool = False, after: int = 0) -> AsyncIterator[answers.Event]:
        """
        What happened to the job, in order; see `AsyncJobs.events`.
        """
        return self._client.jobs.events(self, follow=follow, after=after)

    async def attempts(self) -> list[answers.Attempt]:
        """
        Every attempt, oldest first.
        """
        return await self._client.jobs.attempts(self)

    async def evidence(self) -> list[answers.Evidence]:
        """
        What its claims rest on.
        """
        return await self._client.jobs.evidence(self)

    async def explain(self) -> answers.Explanation:
        """
        What is known, and what would settle the rest.
        """
        return await self._client.jobs.explain(self)

    async def cancel(self, *, reason: str | None = None) -> AsyncJobView:
        """
        Ask for its end; returns when that is durable.
        """
        return await self._client.jobs.cancel(self, reason=reason)

    async def suspend(self, *, reason: str | None = None) -> AsyncJobView:
        """
        Ask that nothing of it run until resumed.
        """
        return await self._client.jobs.suspend(self, reason=reason)

    async def resume(self) -> AsyncJobView:
        """
        Let it wait for its turn again.
        """
        return await self._client.jobs.resume(self)

    async def resolve(self, answer: str, *, because: str, outcome: str | None = None) -> AsyncJobView:
        """
        Settle its doubt by a person's word.
        """
        return await self._client.jobs.resolve(self, answer, because=because, outcome=outcome)

    async def retry(self, *, changes: Mapping[str, Any] | None = None, key: str | None = None) -> AsyncJobView:
        """
        A new job like this finished one.
        """
        return await self._client.jobs.retry(self, changes=changes, key=key)

    async def delete(self) -> None:
        """
        Remove this finished job for good.
        """
        await self._client.jobs.delete(self)
