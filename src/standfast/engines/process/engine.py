"""
The process engine: attempts as local process trees, each under a pair of keepers that outlive the control plane.

Belongs here: the engine port over root, launcher, observe, stop and output. Engines that start a local command of their
own (spark-submit) build on this class with their own program, rules and folder.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import structlog
from asyncinotify import Inotify, Mask

from standfast.core.errors import FieldError, Gone, NotFound, Unavailable
from standfast.core.failure import Rule
from standfast.core.job.inputs import Remainder
from standfast.core.job.observation import Observation
from standfast.core.job.spec import Spec, digest
from standfast.engines.process import output, program, receipt, rules, translate
from standfast.engines.process.launcher import Already, Command, ExecFailed, NoAnswer, Refused, launch
from standfast.engines.process.observe import Absent, Look, Seen, observe
from standfast.engines.process.root import Root, RootUnusable, prepare
from standfast.engines.process.spawner import Spawner
from standfast.engines.process.stop import Stopping, stop
from standfast.engines.process.temporaries import drop_stale
from standfast.engines.process.ticket import HANDLE
from standfast.ports.engine import Capability, Chunk, EngineContext, Hint, Order

log = structlog.get_logger(__name__)

FAILPOINT_VARIABLE = "STANDFAST_KEEPER_FAILPOINT"
"""Tests only: where every keeper of this process dies."""

INLINE_MAX = 8
"""Looks that are made on the loop itself; more go to a thread."""

STDERR_TAIL_BYTES = 16 * 1024

TRIED_MAX = 200
"""Commands remembered for the words of a failure: those being launched, and the latest that could not be run."""

CAPABILITIES = frozenset(Capability)

Check = Callable[[Spec], list[FieldError]]
MakeCommand = Callable[[Order, Path, Mapping[str, str]], Command]


def plain_command(order: Order, run_directory: Path, base: Mapping[str, str]) -> Command:
    """
    The command of a plain process job.
    """
    parsed = program.parse(order.spec)
    assert isinstance(parsed, program.Program)
    return program.command(order, parsed, run_directory=run_directory, base=base)


class ProcessEngine:
    """
    Local process trees, found again by ticket.
    """

    def __init__(
        self,
        context: EngineContext,
        *,
        name: str = "process",
        check: Check = program.check,
        make_command: MakeCommand = plain_command,
        failure_rules: Sequence[Rule] = rules.RULES,
    ) -> None:
        self._context = context
        self._name = name
        self._check = check
        self._make_command = make_command
        self._rules = tuple(failure_rules)
        self._root: Root | None = None
        self._launchers = ThreadPoolExecutor(context.launches, thread_name_prefix=f"{name}-launch")
        # Keepers are forked from a warm server, three times quicker; if it dies, they are started plainly.
        self._spawner = Spawner()
        self._watch: asyncio.Task[None] | None = None
        since_boot_s = time.clock_gettime(time.CLOCK_BOOTTIME)
        self._booted_at = context.clock.now() - timedelta(seconds=round(since_boot_s, 3))
        self._first_asked: dict[str, datetime] = {}
        self._tried: dict[str, Command] = {}
        self._failpoint = os.environ.get(FAILPOINT_VARIABLE)

    @property
    def name(self) -> str:
        """
        As specs name it.
        """
        return self._name

    @property
    def capabilities(self) -> frozenset[Capability]:
        """
        All there are.
        """
        return CAPABILITIES

    async def open(self, hint: Hint) -> None:
        """
        Prepare the root and watch its tickets.

        Raises:
            Unavailable: The root cannot be used; nothing of it was changed.
        """
        try:
            self._root = await asyncio.to_thread(prepare, self._context.folder, fresh_id=self._context.ids.request_id())
        except RootUnusable as error:
            raise Unavailable(f"{self._name}: {error}", code="engine_unreachable") from error
        self._watch = asyncio.get_running_loop().create_task(self._hints(self._root, hint))
        try:
            dropped = await asyncio.to_thread(drop_stale, self._root, now_s=time.clock_gettime(time.CLOCK_REALTIME))
        except OSError as error:
            log.warning("temporaries_stay", engine=self._name, error=str(error))
        else:
            if dropped:
                log.info("temporaries_dropped", engine=self._name, count=dropped)

    def check(self, spec: Spec) -> list[FieldError]:
        """
        Everything wrong with the program.
        """
        return self._check(spec)

    def call(self, order: Order) -> Mapping[str, Any]:
        """
        The command that a keeper would run, environment masked.
        """
        run_directory = self._context.folder / "runs" / order.handle
        made = self._make_command(order, run_directory, os.environ)
        return {"engine": self._name, "handle": order.handle, "digest": digest(order), "command": program.shown(made)}

    async def incarnation(self) -> str:
        """
        The root's own id: it changes only with the folder.

        Raises:
            Unavailable: Not open yet, or the folder is gone or another one.
        """
        root = self._opened()
        try:
            root.check()
        except RootUnusable as error:
            raise Unavailable(f"{self._name}: {error}", code="engine_unreachable") from error
        return root.incarnation

    async def launch(self, order: Order) -> Observation:
        """
        Start the attempt unless its handle was ever used; then look.
        """
        root, given = self._opened(), digest(order)
        made = self._make_command(order, root.run_directory(order.handle), os.environ)
        loop = asyncio.get_running_loop()
        # Before the launch, because a hint may look while we still wait for the keeper's answer.
        self._tried[order.handle] = made
        launched = await loop.run_in_executor(
            self._launchers,
            lambda: launch(root, order.handle, given, made, spawner=self._spawner, failpoint=self._failpoint),
        )
        if not isinstance(launched, ExecFailed):
            self._tried.pop(order.handle, None)
        while len(self._tried) > TRIED_MAX:
            self._tried.pop(next(iter(self._tried)))
        now, by = self._context.clock.now(), f"{self._name}.launch"
        match launched:
            case Refused():
                return translate.to_refusal(launched, now=now, by=by)
            case Already(digest=theirs, void=False) if theirs != given:
                return translate.to_conflict(order.handle, theirs, given, now=now, by=by)
            case NoAnswer(detail=detail):
                log.warning("keeper_gave_no_answer", handle=order.handle, detail=detail)
        return (await self.look([order.handle]))[order.handle]

    async def look(self, handles: Sequence[str]) -> Mapping[str, Observation]:
        """
        Read the tickets; some 50 microseconds each.
        """
        root = self._opened()
        if len(handles) <= INLINE_MAX:
            return self._look(root, handles)
        return await asyncio.to_thread(self._look, root, handles)

    async def halt(self, handle: str, *, grace_s: float) -> None:
        """
        Ask the keepers, or the survivors of lost ones, or spend the handle if it never began.

        Raises:
            Unavailable: The root cannot be used, so nobody was asked.
        """
        root, now = self._opened(), self._context.clock.now()
        first = self._first_asked.setdefault(handle, now)
        # Keepers count the grace themselves; orphans have nobody who does.
        patient = (now - first).total_seconds() < grace_s
        answer = await asyncio.to_thread(self._stop, root, handle, patient)
        if not isinstance(answer, Stopping):
            self._first_asked.pop(handle, None)

    async def handles(self) -> Sequence[str]:
        """
        Every handle with a ticket.
        """
        root = self._opened()
        try:
            names = await asyncio.to_thread(os.listdir, root.tickets)
        except OSError as error:
            raise Unavailable(f"{self._name}: {error}", code="engine_unreachable") from error
        return [name for name in names if HANDLE.fullmatch(name)]

    async def read(self, handle: str, *, stream: str, offset: int, limit: int) -> Chunk:
        """
        Output by offset; ended once the attempt has.
        """
        root = self._opened()
        look = observe(root, handle)
        ended = not isinstance(look, Seen) or look.state == "ended"
        named: output.Stream
        match stream:
            case "stdout" | "stderr":
                named = stream
            case _:
                raise NotFound(f"{self._name} has no stream {stream!r}", code="logs_not_found")
        try:
            if offset < 0:
                whole = await asyncio.to_thread(output.read, root, handle, named, 0, 1)
                offset = max(0, whole.size + offset) if whole else 0
            piece = await asyncio.to_thread(output.read, root, handle, named, offset, limit)
        except OSError as error:
            raise Unavailable(f"{self._name}: {error}", code="engine_unreachable") from error
        if piece is None:
            if isinstance(look, Seen) and ended:
                raise Gone(f"the output of {handle} was removed", code="logs_gone")
            raise NotFound(f"there is no output of {handle} yet", code="logs_not_found")
        at_end = piece.next_offset >= piece.size
        return Chunk(piece.data, piece.offset, piece.next_offset, piece.size, ended and at_end)

    async def remove(self, handle: str, what: Remainder) -> None:
        """
        Remove output, or with RECORD the ticket too, which opens the handle again; only of what has ended.

        Raises:
            Unavailable: It has not ended, or the disk refused.
        """
        if what is Remainder.COMPUTE:
            return
        await asyncio.to_thread(self._remove, self._opened(), handle, what)

    async def close(self) -> None:
        """
        Stop watching; keepers and jobs go on.
        """
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)
        self._launchers.shutdown(wait=False, cancel_futures=True)
        await asyncio.to_thread(self._spawner.close)

    def _opened(self) -> Root:
        if self._root is None:
            raise Unavailable(f"{self._name}: not open yet", code="engine_unreachable")
        return self._root

    def _look(self, root: Root, handles: Sequence[str]) -> dict[str, Observation]:
        return {handle: self._observation(root, handle, observe(root, handle, search=True)) for handle in handles}

    def _observation(self, root: Root, handle: str, look: Look) -> Observation:
        ended = isinstance(look, Seen) and look.state == "ended"
        return translate.to_observation(
            look,
            remains(root, handle) if ended else translate.Remains(),
            root=root,
            booted_at=self._booted_at,
            rules=self._rules,
            now=self._context.clock.now(),
            by=f"{self._name}.ticket",
            tried=self._tried.get(handle),
        )

    def _stop(self, root: Root, handle: str, patient: bool) -> object:
        look = observe(root, handle)
        orphaned = isinstance(look, Seen) and look.state == "orphaned"
        answer = stop(root, handle, "void", at_once=orphaned and not patient)
        if isinstance(answer, Stopping) and not answer.signalled:
            log.warning("nobody_to_signal", handle=handle, told=answer.told)
        return answer

    def _remove(self, root: Root, handle: str, what: Remainder) -> None:
        look = observe(root, handle)
        over = isinstance(look, Absent) or (isinstance(look, Seen) and look.state == "ended")
        if not over:
            raise Unavailable(f"{handle} has not ended, or cannot be seen", code="engine_unreachable")
        try:
            shutil.rmtree(root.run_directory(handle), ignore_errors=False)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise Unavailable(f"{handle}: {error}", code="engine_unreachable") from error
        if what is Remainder.RECORD:
            (root.tickets / handle).unlink(missing_ok=True)

    async def _hints(self, root: Root, hint: Hint) -> None:
        """
        A ticket that is written to or closed may have something to say. Source: inotify(7).
        """
        try:
            with Inotify() as inotify:
                inotify.add_watch(root.tickets, Mask.CLOSE_WRITE | Mask.MODIFY)
                async for event in inotify:
                    # A keeper writes through the name under which it made the file: `handle.pid.time.tmp`.
                    handle = str(event.name or "").partition(".")[0]
                    if HANDLE.fullmatch(handle):
                        hint(handle)
        except OSError as error:
            # Hints are a convenience: without them the regular looks see everything a little later.
            log.warning("no_hints", engine=self._name, error=str(error))


def remains(root: Root, handle: str) -> translate.Remains:
    """
    What an ended attempt left in its folder; whatever cannot be read is not there.
    """
    folder = root.run_directory(handle)
    try:
        duplicates = sum(path.name.startswith("duplicate.") for path in folder.iterdir())
        left = receipt.read(root, handle)
    except OSError:
        return translate.Remains()
    return translate.Remains(
        receipt=left,
        stderr=_tail(folder / "stderr", STDERR_TAIL_BYTES),
        duplicates=duplicates,
    )


def _tail(path: Path, bytes_max: int) -> str:
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - bytes_max))
            return file.read().decode(errors="replace")
    except OSError:
        return ""
