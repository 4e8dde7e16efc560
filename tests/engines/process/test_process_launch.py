"""
A launch: exact statuses, refusals that claim nothing, one run per handle, and what the job finds itself in.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from process_lab import PATH, Lab, status_of

from standfast.engines.process import launcher, spawner
from standfast.engines.process.launcher import Already, Command, Launched, Refused, Started
from standfast.engines.process.observe import Absent
from standfast.engines.process.ticket import Exited, NeverRan, Signaled


@pytest.mark.parametrize(
    "script, status",
    [
        ("exit 0", Exited(0)),
        ("exit 7", Exited(7)),
        ("exit 126", Exited(126)),
        ("exit 127", Exited(127)),
        ("exit 137", Exited(137)),
        ("kill -KILL $$", Signaled(signal.SIGKILL)),
        ("kill -TERM $$", Signaled(signal.SIGTERM)),
        ("kill -SEGV $$", Signaled(signal.SIGSEGV)),
    ],
)
def test_the_status_is_the_kernels_own(lab: Lab, script: str, status: object) -> None:
    """
    A number a program chose is never taken for a signal, nor the other way round.
    """
    assert lab.launch("a", lab.counting(script)) == Started()
    seen = lab.free("a")
    assert (seen.state, seen.basis, seen.tree) == ("ended", "gone", "proven")
    assert status_of(seen) == status
    assert lab.runs("a") == 1
    assert seen.ticket is not None
    assert seen.ticket.ended is not None
    assert seen.ticket.ended.asked is None


def _file(lab: Lab, name: str, text: str, mode: int) -> str:
    path = lab.folder / name
    path.write_text(text)
    path.chmod(mode)
    return str(path)


@pytest.mark.parametrize(
    "case, stage, number",
    [
        ("missing", "exec", errno.ENOENT),
        ("not executable", "exec", errno.EACCES),
        ("no shebang", "exec", errno.ENOEXEC),
        ("bad cwd", "cwd", errno.ENOENT),
        ("NUL in argv", "argv", errno.EINVAL),
        ("NUL in env", "env", errno.EINVAL),
        ("lone surrogate", "argv", errno.EILSEQ),
        ("empty argv", "argv", errno.ENOENT),
        ("one argument too long", "exec", errno.E2BIG),
        ("rlimit refused", "rlimits", errno.EPERM),
    ],
)
def test_what_cannot_be_run_never_ran(lab: Lab, case: str, stage: str, number: int) -> None:
    """
    The handle is spent, the stage and errno are told and kept, and nothing ran.
    """
    env = {"PATH": PATH}
    command = {
        "missing": Command(argv=("no-such-command",), env=env),
        "not executable": Command(argv=(_file(lab, "x", "#!/bin/sh\n", 0o644),), env=env),
        "no shebang": Command(argv=(_file(lab, "y", "echo hi\n", 0o755),), env=env),
        "bad cwd": Command(argv=("true",), env=env, cwd="/no/such/folder"),
        "NUL in argv": Command(argv=("true", "a\0b"), env=env),
        "NUL in env": Command(argv=("true",), env={**env, "A": "a\0b"}),
        "lone surrogate": Command(argv=("true", "\ud800"), env=env),
        "empty argv": Command(argv=(), env=env),
        "one argument too long": Command(argv=("true", "x" * 131_072), env=env),
        "rlimit refused": Command(argv=("true",), env=env, rlimits={"nofile": (1 << 40, 1 << 40)}),
    }[case]
    failed = launcher.ExecFailed(stage, number)
    assert lab.launch("a", command) == failed
    seen = lab.free("a")
    status = status_of(seen)
    assert (type(status).__name__, status.stage, status.errno) == ("ExecFailed", stage, number)
    assert seen.tree == "proven"
    assert lab.launch("a", lab.counting()) == Already("d", False)
    assert lab.runs("a") == 0


@pytest.mark.parametrize("stage", ["root", "incarnation", "run_directory", "logs", "claim"])
def test_a_refusal_claims_nothing_and_may_be_repeated(lab: Lab, stage: str) -> None:
    """
    Whatever fails before the link leaves no ticket and no temporary file; a relaunch works.
    """
    assert lab.launch("a", lab.counting(), failpoint=f"refuse:{stage}") == Refused(stage, errno.ENOSPC)
    assert lab.look("a") == Absent(final=False)
    assert list(lab.root.tickets.iterdir()) == []
    assert lab.launch("a", lab.counting()) == Started()
    lab.free("a")
    assert lab.runs("a") == 1


@pytest.mark.parametrize("stage", ["sync", "fork", "fork_job"])
def test_a_failure_after_the_link_spends_the_handle_and_runs_nothing(lab: Lab, stage: str) -> None:
    """
    It is told, and kept, as never run; the directory that could not be flushed included.
    """
    answer = lab.launch("a", lab.counting(), failpoint=f"refuse:{stage}")
    assert answer == launcher.ExecFailed(stage, errno.ENOSPC)
    assert lab.free("a").basis == "gone"
    assert lab.runs("a") == 0


def test_a_job_whose_start_cannot_be_written_is_not_released(lab: Lab) -> None:
    """
    Started precedes go; without it there is no go.
    """
    answer = lab.launch("a", lab.counting(), failpoint="refuse:started")
    assert answer == launcher.ExecFailed("not_released", errno.ECANCELED)
    assert status_of(lab.free("a")) == NeverRan("not_released")
    assert lab.runs("a") == 0


def test_a_root_that_was_replaced_is_refused(lab: Lab) -> None:
    """
    A keeper claims nothing in a memory that is not the one the launch was meant for.
    """
    (lab.root.path / "incarnation").write_text(json.dumps({"v": 1, "id": "other", "machine": ""}))
    assert lab.launch("a", lab.counting()) == Refused("incarnation", errno.ESTALE)
    assert list(lab.root.tickets.iterdir()) == []


def test_the_other_digest_is_named(lab: Lab) -> None:
    """
    A conflict tells whose digest the handle carries.
    """
    assert lab.launch("a", lab.counting(), digest="first") == Started()
    assert lab.launch("a", lab.counting(), digest="second") == Already("first", False)
    lab.free("a")
    assert lab.runs("a") == 1


def test_fifty_launchers_one_run(lab: Lab) -> None:
    """
    The link lets exactly one pass.
    """
    answers: list[Launched] = []
    command = lab.counting()
    threads = [threading.Thread(target=lambda: answers.append(lab.launch("a", command))) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lab.free("a")
    assert answers.count(Started()) == 1
    assert answers.count(Already("d", False)) == 49
    assert lab.runs("a") == 1


def test_a_payload_cut_anywhere_leaves_no_trace(lab: Lab) -> None:
    """
    A control plane that died while writing has launched nothing.
    """
    body = launcher.payload(lab.root, "a", "d", lab.counting())
    cuts = [0, 1, body.index(b"\n"), body.index(b"\n") + 1, *range(30, len(body), len(body) // 15), len(body) - 1]
    for cut in cuts:
        done = subprocess.run(spawner.KEEPER_ARGV, input=body[:cut], capture_output=True, check=False)
        assert done.stdout == b"", cut
        assert done.returncode == 3, (cut, done.stderr)
    assert list(lab.root.tickets.iterdir()) == []
    assert list((lab.root.path / "runs").iterdir()) == []


def test_a_malformed_handle_or_digest_starts_nothing(lab: Lab) -> None:
    """
    Handles become file names, digests a line of fixed length.
    """
    for handle in ("", "../a", "A", "a" * 101, "a.tmp", "a\n"):
        with pytest.raises(ValueError):
            lab.launch(handle, lab.counting())
    with pytest.raises(ValueError):
        lab.launch("a", lab.counting(), digest="x" * 129)
    lab.handles.clear()


def test_arguments_and_environment_arrive_byte_for_byte(lab: Lab) -> None:
    """
    Unicode, bytes that are not UTF-8, and 1.9 MB of arguments.
    """
    report = lab.folder / "report"
    program = (
        "import os,sys,hashlib;b=b'\\0'.join(os.fsencode(a) for a in sys.argv[1:]);"
        f"open({str(report)!r},'w').write(hashlib.sha256(b).hexdigest()+' '+os.environb[b'ODD'].hex())"
    )
    words = ["süß 🦉", os.fsdecode(b"\xff\xfe raw"), "", "a\nb", *["y" * 100_000] * 19]
    odd = b"\x80\xffvalue"
    env = {"PATH": PATH, "ODD": os.fsdecode(odd), "PYTHONUTF8": "1"}
    command = Command(argv=(sys.executable, "-I", "-S", "-X", "utf8", "-c", program, *words), env=env)
    assert lab.launch("a", command) == Started()
    assert status_of(lab.free("a")) == Exited(0)
    digest, value = report.read_text().split()
    assert digest == hashlib.sha256(b"\0".join(os.fsencode(word) for word in words)).hexdigest()
    assert bytes.fromhex(value) == odd


def test_what_the_job_finds_itself_in(lab: Lab) -> None:
    """
    Descriptors 0 to 2 only, an empty stdin, its own session, no signal blocked or ignored, and exactly its environment.
    """
    command = lab.sh(
        "cat /proc/self/status > $LAB/status; ls /proc/self/fd > $LAB/fds; cat > $LAB/stdin;"
        "umask > $LAB/umask; cut -d' ' -f6,19 /proc/$$/stat > $LAB/session; echo $$ >> $LAB/session;"
        "tr '\\0' '\\n' < /proc/$$/environ > $LAB/environ; ulimit -c > $LAB/core; pwd > $LAB/pwd;"
        "cat /proc/self/oom_score_adj > $LAB/oom; readlink /proc/$$/fd/0 > $LAB/input",
        umask=0o027,
        nice=3,
    )
    before = int(Path("/proc/self/oom_score_adj").read_text())
    assert lab.launch("a", command) == Started()
    assert status_of(lab.free("a")) == Exited(0)

    def said(name: str) -> str:
        return (lab.folder / name).read_text()

    # ls itself opens one more, the directory it lists.
    assert said("fds").split() == ["0", "1", "2", "3"]
    assert said("stdin") == ""
    assert said("input").strip() == "/dev/null"
    masks = dict(line.split(":\t") for line in said("status").splitlines() if line.startswith("Sig"))
    # What the C library keeps to itself nobody can reset: make hands 32 on as ignored.
    settable = sum(1 << (number - 1) for number in signal.valid_signals())
    assert {name: int(masks[name], 16) & settable for name in ("SigBlk", "SigIgn", "SigCgt")} == {
        "SigBlk": 0,
        "SigIgn": 0,
        "SigCgt": 0,
    }
    assert said("umask").strip() == "0027"
    session, nice, me = said("session").split()
    assert session == me
    assert int(nice) == os.nice(0) + 3
    assert sorted(said("environ").split("\n")[:-1]) == sorted(
        [f"PATH={PATH}", f"LEDGER={lab.ledger}", f"LAB={lab.folder}", "STANDFAST_ATTEMPT_ID=a"]
    )
    assert said("core").strip() == "0"
    assert said("pwd").strip() == str(lab.root.run_directory("a"))
    assert int(said("oom")) == min(1000, before + 300)


def test_the_command_line_of_a_keeper_says_nothing(lab: Lab) -> None:
    """
    Neither arguments nor environment of the job are to be seen in its keepers.
    """
    secret = "s3cret-" + "x" * 8
    assert lab.launch("a", lab.sh(f": {secret}; read x < $GATE", env={"GATE": str(lab.pipe("gate")), "S": secret}))
    for pid in lab.pair("a"):
        for name in ("cmdline", "environ"):
            with open(f"/proc/{pid}/{name}", "rb") as file:
                content = file.read()
            assert secret.encode() not in content
            if name == "environ":
                assert content.rstrip(b"\0") == b"STANDFAST_KEEPER=a"
    (lab.folder / "gate").write_text("go\n")
    lab.free("a")


@pytest.mark.parametrize(
    "script, limits, number",
    [
        ("while :; do :; done", {"cpu": (1, 2)}, signal.SIGXCPU),
        ("exec head -c 1000000 /dev/zero", {"fsize": (1000, 1000)}, signal.SIGXFSZ),
    ],
)
def test_limits_end_a_job_by_their_own_signal(
    lab: Lab, script: str, limits: dict[str, tuple[int, int]], number: int
) -> None:
    """
    Python ignores SIGXFSZ; a job must not inherit that.
    """
    assert lab.launch("a", lab.sh(script, rlimits={"core": (0, 0), **limits})) == Started()
    assert status_of(lab.free("a")) == Signaled(number)


def test_counts_of_memory_kills_are_kept_from_start_to_end(lab: Lab) -> None:
    """
    A rise of the kernel's counter during the job is the evidence for "probably out of memory".
    """
    assert lab.launch("a", lab.counting()) == Started()
    found = lab.free("a").ticket
    assert found is not None
    assert found.started is not None
    assert found.ended is not None
    assert found.gone is not None
    counts = [record.oom.machine for record in (found.started, found.ended, found.gone)]
    assert all(isinstance(count, int) for count in counts)
    assert counts == sorted(counts)
