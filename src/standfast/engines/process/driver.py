"""
The driver: runs a Python script as the main program of one attempt, once, and leaves a receipt of how it ended.

Belongs here: the attempt's own claim, the run, the receipt. Does not belong here: any import beyond the standard
library, or any Python newer than 3.8: this file is copied to where a job runs. Used as::

    python driver.py script.py args...        also as the main file of spark-submit

Reads STANDFAST_ATTEMPT_ID, STANDFAST_RUN_DIR and STANDFAST_RECEIPT; without them it only runs the script. Exit code
and traceback are the script's own, but for two: 88 = this attempt was already claimed by another process (the file
duplicate.PID.json is the evidence, the number alone is not), 89 = the claim could not be written.

Receipt, at most 64 KiB, the first one stays::

    {"v": 1, "attempt": ..., "outcome": "succeeded" | "failed" | "terminated", "t": s since 1970, "boottime": s,
     "by": "return" | "exception" | "sys.exit" | "signal", "exit": 0..255 or null, "at": "file:line" or null,
     "chain": [{"class": ..., "bases": [...], "message": ..., "condition": ..., "sqlstate": ...}, ...]}
"""

from __future__ import annotations

import json
import os
import runpy
import signal
import sys
import time

DUPLICATE_EXIT = 88
UNCLAIMED_EXIT = 89
RECEIPT_BYTES_MAX = 60_000
MESSAGE_CHARS_MAX = 500
CHAIN_MAX = 10

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType, TracebackType
    from typing import Any


def durable_link(path: str, document: dict[str, Any]) -> bool:
    """
    Make `path` appear with its whole content, durably, unless it exists; False when it does. Raises OSError.
    """
    temporary = f"{path}.{os.getpid()}.{time.monotonic_ns()}.tmp"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(fd, json.dumps(document, separators=(",", ":")).encode() + b"\n")
        os.fsync(fd)
        os.link(temporary, path)
    except FileExistsError:
        return False
    finally:
        os.close(fd)
        os.unlink(temporary)
    directory = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
    return True


class Attempt:
    """
    What the environment says about the attempt, and who claimed it.
    """

    def __init__(self, handle: str, run_directory: str, receipt: str) -> None:
        self.handle = handle
        self.run_directory = run_directory
        self.receipt = receipt
        self.claimant = 0

    def claim(self) -> bool:
        """
        Become the one process that runs this attempt; never released, so a relaunch by a supervisor is refused too.
        """
        me = {"v": 1, "attempt": self.handle, "pid": os.getpid(), "t": round(time.time(), 3)}
        if durable_link(f"{self.run_directory}/driver.claim", me):
            self.claimant = os.getpid()
            return True
        durable_link(f"{self.run_directory}/duplicate.{os.getpid()}.json", me)
        return False

    def end(self, outcome: str, by: str, code: int | None, error: BaseException | None, script: str) -> None:
        """
        Write the receipt, if this process is the claimant and there is none; a disk that refuses changes nothing.

        A forked child that raises comes by here as well, and must not speak for the attempt.
        """
        if os.getpid() != self.claimant:
            return
        document: dict[str, Any] = {
            "v": 1,
            "attempt": self.handle,
            "outcome": outcome,
            "t": round(time.time(), 3),
            "boottime": boottime(),
            "by": by,
            "exit": code,
            "at": None,
            "chain": [],
        }
        if error is not None:
            document["at"] = where(error.__traceback__, script)
            document["chain"] = [described(link) for link in chain(error)]
            while len(json.dumps(document)) > RECEIPT_BYTES_MAX:
                document["chain"].pop()
        try:
            durable_link(self.receipt, document)
        except OSError as refused:
            print(f"standfast: no receipt: {refused}", file=sys.stderr)


def boottime() -> float | None:
    """
    Seconds since boot, the clock that tickets carry too; None where there is none.
    """
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return None if clock is None else round(time.clock_gettime(clock), 3)


def chain(error: BaseException) -> list[BaseException]:
    """
    The error and what led to it, as Python would print it, nearest first; at most 10.
    """
    links: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and link not in links and len(links) < CHAIN_MAX:
        links.append(link)
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return links


def described(error: BaseException) -> dict[str, Any]:
    """
    One error: class and bases, message, and the engine's own condition where it offers one.

    Source: PySpark, errors/exceptions/base.py: getCondition since 4.0, before it getErrorClass; getSqlState.
    """
    return {
        "class": named(type(error)),
        "bases": [named(base) for base in type(error).__mro__[1:] if base is not object][:10],
        "message": asked(error.__str__),
        "condition": asked(getattr(error, "getCondition", None)) or asked(getattr(error, "getErrorClass", None)),
        "sqlstate": asked(getattr(error, "getSqlState", None)),
    }


def named(kind: type) -> str:
    """
    The full name of a class, without `builtins`.
    """
    name = f"{kind.__module__}.{kind.__qualname__}"
    return name[len("builtins.") :] if name.startswith("builtins.") else name


def asked(method: Any) -> str | None:
    """
    What a method of a strange object answers, as text of at most 500 characters; None when it fails or has nothing.
    """
    try:
        answer = method()
        return None if answer is None else str(answer)[:MESSAGE_CHARS_MAX]
    except Exception:
        return None


def where(trace: TracebackType | None, script: str) -> str | None:
    """
    "file:line" of the last frame in the script itself, else of the last frame at all.
    """
    last = inside = None
    while trace is not None:
        last = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        if trace.tb_frame.f_code.co_filename == script:
            inside = last
        trace = trace.tb_next
    return inside or last


def without_driver(trace: TracebackType | None) -> TracebackType | None:
    """
    The traceback as if the script had been run directly.
    """
    own = (__file__, runpy.__file__, "<frozen runpy>")
    while trace is not None and trace.tb_frame.f_code.co_filename in own:
        trace = trace.tb_next
    return trace


def exit_code(code: object) -> int:
    """
    What the interpreter makes of sys.exit's argument: nothing is 0, a number is itself, text is printed and 1.
    """
    return 0 if code is None else code & 0xFF if isinstance(code, int) else 1


def run(script: str, attempt: Attempt | None) -> None:
    """
    Run the script as __main__ and end as it ends, with a receipt.
    """

    def terminated(number: int, frame: FrameType | None) -> None:
        """
        The script left SIGTERM at its default, so it dies of it, but not without a word.
        """
        signal.signal(number, signal.SIG_DFL)
        if attempt is not None:
            attempt.end("terminated", "signal", None, None, script)
        os.kill(os.getpid(), number)

    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, terminated)
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as error:
        if attempt is not None:
            code = exit_code(error.code)
            attempt.end("failed" if code else "succeeded", "sys.exit", code, error if code else None, script)
        raise
    except KeyboardInterrupt as error:
        if attempt is not None:
            attempt.end("terminated", "signal", None, error, script)
        raise
    except BaseException as error:
        if attempt is not None:
            attempt.end("failed", "exception", 1, error, script)
        for link in chain(error):
            link.__traceback__ = without_driver(link.__traceback__)
        # Not raised again: that would put our own frames on top of the script's traceback.
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(1)
    if attempt is not None:
        attempt.end("succeeded", "return", 0, None, script)


def main() -> None:
    """
    Entry: claim the attempt, then become the script.
    """
    if len(sys.argv) < 2:
        sys.exit("usage: driver.py script.py [args...]")
    handle, folder = os.environ.get("STANDFAST_ATTEMPT_ID"), os.environ.get("STANDFAST_RUN_DIR")
    attempt = None
    if handle and folder:
        attempt = Attempt(handle, folder, os.environ.get("STANDFAST_RECEIPT") or f"{folder}/receipt.json")
        try:
            mine = attempt.claim()
        except OSError as error:
            print(f"standfast: cannot claim attempt {handle}: {error}", file=sys.stderr)
            sys.exit(UNCLAIMED_EXIT)
        if not mine:
            print(f"standfast: attempt {handle} is already claimed; nothing was run", file=sys.stderr)
            sys.exit(DUPLICATE_EXIT)
    script = sys.argv[1]
    del sys.argv[0]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    run(script, attempt)


if __name__ == "__main__":
    main()
