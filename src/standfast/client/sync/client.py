"""
The blocking client of a control plane as a whole.

Belongs here: connecting, watching everything, the control plane about itself. Not here: jobs (`jobs`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, Self

import httpx2

from standfast.client import answers, calls, following
from standfast.client.errors import ClientError
from standfast.client.retrying import CHANGE_FOR_S
from standfast.client.sync.jobs import JobList, Jobs
from standfast.client.transport import HttpTransport, address_of

EVENTS_AT_ONCE = 500
"""Events in one answer."""


class Client:
    """
    A control plane, for blocking callers. Safe to share between threads; close it, or use it in a `with` block.
    """

    def __init__(
        self,
        server: str | None = None,
        *,
        token: str | None = None,
        namespace: str | None = None,
        socket: str | None = None,
        retry_for_s: float = CHANGE_FOR_S,
        told: Callable[[str], None] | None = None,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        """
        Nothing is sent yet.

        Args:
            server: URL; None: `STANDFAST_SERVER`, else http://127.0.0.1:8350.
            token: None: `STANDFAST_TOKEN`, if it is set.
            namespace: Of jobs; None: `STANDFAST_NAMESPACE`, else `default`.
            socket: Path of a Unix socket to talk through instead of the network.
            retry_for_s: Seconds for which a change that nobody answers is sent again, the same bytes each time.
            told: Called with a sentence when nobody answers, and when somebody does again.
            transport: In place of the network, for tests.
        """
        self.namespace = namespace or os.environ.get("STANDFAST_NAMESPACE") or "default"
        self._transport = HttpTransport(address_of(server, token, socket, retry_for_s, told, transport))
        self.jobs = Jobs(self)

    @property
    def server(self) -> str:
        """
        The URL in use.
        """
        return self._transport.server

    def watch(
        self,
        *,
        kinds: Sequence[str] = ("job",),
        cursor: str | None = None,
        namespace: str | None = None,
    ) -> Iterator[answers.Event]:
        """
        Everything that happens from now on, or from `cursor` on, without gap or double, for ever.

        Breaks are mended inside: the stream goes on behind the last event seen.

        Args:
            kinds: Of things; jobs are all there is.
            cursor: `watch_cursor` of a page, or an event's number; None: from now on.
            namespace: None: every one that may be seen.
        """
        query = {"namespace": namespace} if namespace else {}
        if cursor is None:
            cursor = self._now()
        return self._follow(query, cursor)

    def history(
        self, *, after: int | str = 0, since: datetime | None = None, namespace: str | None = None
    ) -> Iterator[answers.Event]:
        """
        Everything that happened to any job until now, in order.

        Args:
            after: Number of the event to begin behind.
            since: Instead: only what happened since that aware time.
            namespace: None: every one that may be seen.
        """
        seq = int(after if since is None else self.cursor_at(since))
        while True:
            page = self._transport.send(calls.all_events(after=seq, limit=EVENTS_AT_ONCE, namespace=namespace))
            for event in page.items:
                if since is None or event.at >= since:
                    yield event
            if len(page.items) < EVENTS_AT_ONCE:
                return
            seq = page.items[-1].seq

    def cursor_at(self, since: datetime) -> str:
        """
        Where to read or watch from so that nothing since that aware time is missed.

        Events are numbered in the order they were stored. Where the control plane's clock was set back meanwhile, that
        is not the order of their times, and what this finds is one place at which the time was passed.
        """
        seek = following.Seek(since, int(self._now() or 0))
        while not seek.done:
            page = self._transport.send(calls.all_events(after=seek.probe, limit=1, namespace=None))
            seek.take(page.items)
        return str(seek.after)

    def counts(self) -> dict[str, Any]:
        """
        Jobs by phase and engine, from kept counters.
        """
        return self._transport.send(calls.document("/v1/counts"))

    def engines(self) -> dict[str, Any]:
        """
        The engines with what each can do and whether it answers.
        """
        return self._transport.send(calls.document("/v1/engines"))

    def problems(self) -> dict[str, Any]:
        """
        Every error code with its meaning.
        """
        return self._transport.send(calls.document("/v1/problems"))

    def doctor(self) -> dict[str, Any]:
        """
        The control plane's examination of itself.
        """
        return self._transport.send(calls.document("/v1/doctor"))

    def close(self) -> None:
        """
        Let the connections go. Jobs are not touched.
        """
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _now(self) -> str | None:
        """
        The number of the newest event.
        """
        return next(iter(JobList(self, {"namespace": "", "page_size": 1}, 1).pages())).watch_cursor

    def _follow(self, query: Mapping[str, str], cursor: str | None) -> Iterator[answers.Event]:
        """
        Events as they come, over as many connections as it takes.
        """
        position = following.Position(cursor, self._transport.told)
        while True:
            try:
                for frame in self._transport.stream("/v1/events", query, last_id=position.cursor):
                    event = position.take(frame)
                    if event is not None:
                        yield event
            except (httpx2.TransportError, ClientError) as error:
                pause_s = position.broke(error)
            else:
                pause_s = position.broke(None)
            time.sleep(pause_s)
