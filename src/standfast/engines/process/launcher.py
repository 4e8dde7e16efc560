"""
The control plane's side of a launch: start a keeper, hand it the command, take one answer.

Belongs here: the command, the payload, the ack. Does not belong here: processes and pipes (spawner.py), looking
(observe.py), and deciding whether a launch may be repeated - it may, freely: the link of the ticket lets one pass.

The command and its environment travel through an anonymous memory file only, never over a command line, never over a
disk. Linux only, like the keeper.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from standfast.engines.process.root import Root
from standfast.engines.process.spawner import Silence, Spawner
from standfast.engines.process.ticket import HANDLE

ACK_TIMEOUT_S = 10.0
PLAIN = Spawner(fork_server=False)
DIGEST_CHARS_MAX = 128
JOB_COOKIE = "STANDFAST_ATTEMPT_ID"


class Command(msgspec.Struct, frozen=True, kw_only=True):
    """
    What to run and under which conditions; strings may hold surrogate escapes for bytes that are not UTF-8.

    argv: found through PATH of `env`; no shell. env: the whole environment, but for STANDFAST_ATTEMPT_ID, which is the
    handle always: a search for survivors goes by it. cwd: None for the run directory.
    nice: added. rlimits: name in lower case to (soft, hard), -1 without limit. oom_score_adj: added.
    stop_grace_s: between TERM and KILL. stop_scope: who is asked first. stragglers: what becomes of processes that
    outlive the main one: TERM and KILL after straggler_grace_s, or nothing.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str | None = None
    umask: int = 0o022
    nice: int = 0
    rlimits: Mapping[str, tuple[int, int]] = msgspec.field(default_factory=lambda: {"core": (0, 0)})
    oom_score_adj: int = 300
    stop_grace_s: float = 10.0
    stop_scope: Literal["tree", "main"] = "tree"
    stragglers: Literal["kill", "wait"] = "kill"
    straggler_grace_s: float = 1.0


class Started(msgspec.Struct, frozen=True, tag=True):
    """
    The command runs: exec has happened.
    """


class Already(msgspec.Struct, frozen=True, tag=True):
    """
    The handle has a ticket. Another digest is a conflict; void: it was given up; both None: the ticket is damaged.
    """

    digest: str | None
    void: bool | None


class ExecFailed(msgspec.Struct, frozen=True, tag=True):
    """
    The handle is spent, nothing ran: the command cannot be run as asked.
    """

    stage: str
    errno: int


class Refused(msgspec.Struct, frozen=True, tag=True):
    """
    Nothing was claimed and nothing ran: the machine could not take it now.
    """

    stage: str
    errno: int


class NoAnswer(msgspec.Struct, frozen=True, tag=True):
    """
    Nothing is known: observe. detail: what the keeper's first process left on stderr, at most 2,000 characters.
    """

    detail: str


Launched = Started | Already | ExecFailed | Refused | NoAnswer


def launch(
    root: Root,
    handle: str,
    digest: str,
    command: Command,
    *,
    spawner: Spawner = PLAIN,
    failpoint: str | None = None,
    timeout_s: float = ACK_TIMEOUT_S,
) -> Launched:
    """
    Run `command` under `handle` unless the handle was ever used; blocks for one ack: 30 ms, 8 with a fork server.

    Call it from a worker thread. It may be repeated and raced freely, also after NoAnswer or a crash in it.

    Args:
        handle: [a-z0-9-]{1,100}, never used for anything else.
        digest: Of whatever makes two launches the same, at most 128 ASCII characters; kept in the ticket.
        spawner: How the keeper's first process comes about; changes the speed and nothing else.
        failpoint: Test builds only, see keeper.Failpoint.
    Raises:
        ValueError: handle or digest is malformed; nothing was started.
    """
    body = payload(root, handle, digest, command, failpoint=failpoint)
    stdin = os.memfd_create("standfast-payload", os.MFD_CLOEXEC)
    try:
        with os.fdopen(os.dup(stdin), "wb") as file:
            file.write(body)
        return from_ack(spawner.ask(handle, stdin, timeout_s))
    except Silence as silence:
        return NoAnswer(silence.detail)
    except OSError as error:
        return Refused("spawn", error.errno or 0)
    finally:
        os.close(stdin)


def payload(root: Root, handle: str, digest: str, command: Command, *, failpoint: str | None = None) -> bytes:
    """
    What the keeper reads on stdin: ``<length> <crc32>\\n`` and the JSON spec; raises ValueError as `launch` does.
    """
    if not HANDLE.fullmatch(handle):
        raise ValueError(f"not a handle: {handle!r}")
    if len(digest) > DIGEST_CHARS_MAX or not digest.isascii() or not digest.isprintable():
        raise ValueError("digest must be at most 128 printable ASCII characters")
    spec: dict[str, Any] = {
        "v": 1,
        "root": str(root.path),
        "incarnation": root.incarnation,
        "handle": handle,
        "digest": digest,
        "failpoint": failpoint,
        **{name: getattr(command, name) for name in command.__struct_fields__},
    }
    spec["env"] = {**command.env, JOB_COOKIE: handle}
    spec["rlimits"] = dict(command.rlimits)
    # Not msgspec: surrogate escapes must survive, as \udcXX.
    body = json.dumps(spec, separators=(",", ":")).encode()
    return b"%d %d\n" % (len(body), zlib.crc32(body)) + body


def from_ack(line: bytes) -> Launched:
    """
    Translate the keeper's one line.
    """
    ack = json.loads(line)
    match ack["ack"]:
        case "started":
            return Started()
        case "already":
            return Already(ack["digest"], ack["void"])
        case "exec_failed":
            return ExecFailed(ack["stage"], ack["errno"])
        case "refused":
            return Refused(ack["stage"], ack["errno"])
    return NoAnswer(line.decode(errors="replace"))
