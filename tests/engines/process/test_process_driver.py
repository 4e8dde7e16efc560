"""
The driver: one run per attempt, a receipt by the claimant only, and an end that is the script's own.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from process_lab import PATH, Lab

from standfast.engines.process import driver, environment, receipt, stop
from standfast.engines.process.launcher import Command, Started
from standfast.engines.process.receipt import Ignored, Receipt
from standfast.engines.process.ticket import Exited, Signaled


def _job(lab: Lab, script: str, *arguments: str, handle: str = "a") -> Command:
    path = lab.folder / "script.py"
    path.write_text(script)
    env = environment.build(
        lab.root.run_directory(handle),
        handle,
        {"LAB": str(lab.folder)},
        base={"PATH": PATH},
        job="j",
        attempt=1,
        fence=1,
        stop_grace_s=10,
    )
    return Command(argv=(sys.executable, driver.__file__, str(path), *arguments), env=env)


def _run(lab: Lab, script: str, *arguments: str) -> tuple[Any, Receipt]:
    assert lab.launch("a", _job(lab, script, *arguments)) == Started()
    seen = lab.free("a")
    found = receipt.read(lab.root, "a")
    assert isinstance(found, Receipt), found
    assert found.attempt == "a"
    return seen.status, found


def _stderr(lab: Lab) -> str:
    return (lab.root.run_directory("a") / "stderr").read_text()


def test_a_script_that_returns(plain_lab: Lab) -> None:
    """
    It is __main__, with its own arguments and folder, and succeeds.
    """
    lab = plain_lab
    script = "import sys,os\nassert __name__=='__main__'\nassert sys.argv[1:]==['x','--y'], sys.argv\n"
    script += "assert sys.path[0]==os.environ['LAB'] and sys.argv[0]==__file__"
    status, found = _run(lab, script, "x", "--y")
    assert (status, found.outcome, found.by, found.exit) == (Exited(0), "succeeded", "return", 0)


@pytest.mark.parametrize(
    "script, status, outcome, code",
    [
        ("import sys; sys.exit()", 0, "succeeded", 0),
        ("import sys; sys.exit(0)", 0, "succeeded", 0),
        ("import sys; sys.exit(3)", 3, "failed", 3),
        ("import sys; sys.exit(259)", 3, "failed", 3),
        ("import sys; sys.exit('bad news')", 1, "failed", 1),
    ],
)
def test_a_script_that_exits(plain_lab: Lab, script: str, status: int, outcome: str, code: int) -> None:
    """
    The receipt says the exit code that the interpreter makes of it.
    """
    lab = plain_lab
    got, found = _run(lab, script)
    assert (got, found.outcome, found.by, found.exit) == (Exited(status), outcome, "sys.exit", code)
    if "bad" in script:
        assert found.chain[0].message == "bad news"
        assert "bad news" in _stderr(lab)


def test_the_chain_of_an_exception(plain_lab: Lab) -> None:
    """
    Nearest first, with what the engine's own exceptions offer; the traceback is as without us.
    """
    lab = plain_lab
    script = (
        "class EngineError(ValueError):\n"
        "    def getCondition(self): return 'UNRESOLVED_COLUMN'\n"
        "    def getSqlState(self): return '42703'\n"
        "try:\n"
        "    raise EngineError('no such column: é' + 'x' * 1000)\n"
        "except EngineError as error:\n"
        "    raise RuntimeError('job failed') from error\n"
    )
    status, found = _run(lab, script)
    assert (status, found.outcome, found.by) == (Exited(1), "failed", "exception")
    assert [link.class_ for link in found.chain] == ["RuntimeError", "__main__.EngineError"]
    assert (found.chain[1].condition, found.chain[1].sqlstate) == ("UNRESOLVED_COLUMN", "42703")
    assert found.chain[1].bases[0] == "ValueError"
    assert len(found.chain[1].message or "") == 500
    assert found.at == f"{lab.folder}/script.py:7"
    plain = subprocess.run([sys.executable, lab.folder / "script.py"], capture_output=True, text=True, check=False)
    assert _stderr(lab) == plain.stderr


def test_an_enormous_chain_still_fits(plain_lab: Lab) -> None:
    """
    A receipt is never longer than what is read.
    """
    lab = plain_lab
    script = "e = None\nfor _ in range(50):\n    n = ValueError('🦉' * 9999); n.__cause__ = e; e = n\nraise e"
    _, found = _run(lab, script)
    assert 1 <= len(found.chain) <= 10


def test_a_syntax_error(plain_lab: Lab) -> None:
    """
    Nothing of the script ran, and the receipt says why.
    """
    lab = plain_lab
    status, found = _run(lab, "def broken(:\n")
    assert (status, found.outcome, found.chain[0].class_) == (Exited(1), "failed", "SyntaxError")


def test_exceptions_that_misbehave(plain_lab: Lab) -> None:
    """
    An exception whose own methods raise is described as far as it goes.
    """
    lab = plain_lab
    script = "class E(Exception):\n  def __str__(self): raise E\n  def getCondition(self): return 1/0\nraise E()"
    status, found = _run(lab, script)
    assert (status, found.chain[0].message, found.chain[0].condition) == (Exited(1), None, None)


def test_a_forked_child_does_not_speak_for_the_attempt(plain_lab: Lab) -> None:
    """
    A child that raises, or exits, leaves no receipt; the claimant does.
    """
    lab = plain_lab
    script = "import os\nfor n in range(2):\n  if os.fork()==0:\n    raise SystemExit(5) if n else ValueError(1)\n"
    script += "  os.wait()\n"
    status, found = _run(lab, script)
    assert (status, found.outcome) == (Exited(0), "succeeded")


def test_success_and_then_a_bad_end(plain_lab: Lab) -> None:
    """
    The receipt stays what it was when an atexit handler breaks the exit code: a conflict, shown, not hidden.
    """
    lab = plain_lab
    status, found = _run(lab, "import atexit,os; atexit.register(os._exit, 5)")
    assert (status, found.outcome) == (Exited(5), "succeeded")


@pytest.mark.parametrize(
    "script, status",
    [
        ("import os; os._exit(0)", Exited(0)),
        ("import os,signal; os.kill(os.getpid(), signal.SIGSEGV)", Signaled(signal.SIGSEGV)),
    ],
)
def test_an_end_behind_pythons_back_leaves_no_receipt(plain_lab: Lab, script: str, status: object) -> None:
    """
    And none is invented.
    """
    lab = plain_lab
    assert lab.launch("a", _job(lab, script)) == Started()
    assert lab.free("a").status == status
    assert receipt.read(lab.root, "a") is None


@pytest.mark.parametrize("own", [False, True])
def test_terminated(plain_lab: Lab, own: bool) -> None:
    """
    At its default, TERM leaves a receipt and the status of the signal; a script's own handler is its own business.
    """
    lab = plain_lab
    ready = lab.pipe("ready")
    script = "import signal,sys,time\n"
    script += "signal.signal(signal.SIGTERM, lambda *a: sys.exit(4))\n" if own else ""
    script += f"open({str(ready)!r},'w').write('x')\ntime.sleep(1000)"
    assert lab.launch("a", _job(lab, script)) == Started()
    ready.read_text()
    assert isinstance(stop.stop(lab.root, "a", "d"), stop.Stopping)
    seen = lab.free("a")
    found = receipt.read(lab.root, "a")
    assert isinstance(found, Receipt)
    if own:
        assert (seen.status, found.outcome, found.by) == (Exited(4), "failed", "sys.exit")
    else:
        assert (seen.status, found.outcome) == (Signaled(signal.SIGTERM), "terminated")
        assert seen.ticket is not None
        assert seen.ticket.ended is not None
        assert seen.ticket.ended.asked is not None
        assert found.boottime is not None
        assert found.boottime >= seen.ticket.ended.asked.boottime


def test_five_drivers_one_run(plain_lab: Lab) -> None:
    """
    Of five processes for one attempt one runs; the others exit 88 and leave a file, and none is let in later.
    """
    lab = plain_lab
    command = _job(lab, "import os; open(os.environ['LAB']+'/ledger','a').write('x\\n'); import time; time.sleep(.2)")
    folder = lab.root.run_directory("a")
    folder.mkdir()
    started = [subprocess.Popen(command.argv, env=dict(command.env), stderr=subprocess.DEVNULL) for _ in range(5)]
    codes = sorted(process.wait() for process in started)
    assert codes == [0, 88, 88, 88, 88]
    again = subprocess.run(command.argv, env=dict(command.env), capture_output=True, check=False)
    assert again.returncode == 88
    assert b"already claimed" in again.stderr
    assert len(list(folder.glob("duplicate.*.json"))) == 5
    assert lab.ledger.read_text() == "x\n"
    assert list(folder.glob("*.tmp")) == []


def test_without_a_place_to_claim_nothing_runs(plain_lab: Lab) -> None:
    """
    A claim that cannot be written is not a claim.
    """
    lab = plain_lab
    command = _job(lab, "import os; open(os.environ['LAB']+'/ledger','a').write('x\\n')")
    done = subprocess.run(command.argv, env=dict(command.env), capture_output=True, check=False)
    assert done.returncode == driver.UNCLAIMED_EXIT
    assert lab.runs("x") == 0


def test_outside_an_attempt_it_only_runs_the_script(plain_lab: Lab) -> None:
    """
    No environment of ours, no files of ours.
    """
    lab = plain_lab
    command = _job(lab, "print('hello')")
    done = subprocess.run(command.argv, env={"PATH": PATH}, capture_output=True, check=False, cwd=lab.folder)
    assert (done.returncode, done.stdout) == (0, b"hello\n")
    assert sorted(path.name for path in lab.folder.iterdir()) == ["root", "script.py"]


@pytest.mark.parametrize(
    "content",
    [b"", b"nonsense", b"\xff\xfe", b'{"v":2}', b'{"v":1,"attempt":"other","outcome":"failed","t":1}', b" " * 70_000],
)
def test_what_is_no_receipt_is_ignored_and_kept(plain_lab: Lab, content: bytes) -> None:
    """
    Bad JSON, another version, another attempt, too long.
    """
    lab = plain_lab
    lab.root.run_directory("a").mkdir()
    (lab.root.run_directory("a") / "receipt.json").write_bytes(content)
    found = receipt.read(lab.root, "a")
    assert isinstance(found, Ignored)
    assert len(found.raw) <= 2000


def test_any_language_may_write_one(plain_lab: Lab) -> None:
    """
    The least that counts, written by rename.
    """
    lab = plain_lab
    document = {"v": 1, "attempt": "a", "outcome": "failed", "t": 1}
    script = f"printf '%s' '{json.dumps(document)}' > x && mv x receipt.json; exit 0"
    assert lab.launch("a", lab.sh(script)) == Started()
    lab.free("a")
    found = receipt.read(lab.root, "a")
    assert isinstance(found, Receipt)
    assert found.outcome == "failed"


def test_the_environment_is_what_is_listed(plain_lab: Lab) -> None:
    """
    The control plane's own is not passed on, and the spec cannot pretend to be another attempt.
    """
    lab = plain_lab
    base = {"PATH": "/bin", "HOME": "/h", "SECRET": "s", "EDITOR": "ed"}
    spec = {"PATH": "/mine", "A": "1", "STANDFAST_ATTEMPT_ID": "other"}
    made = environment.build(
        lab.root.run_directory("a"), "a", spec, base=base, job="j", attempt=2, fence=7, stop_grace_s=2.5
    )
    folder = str(Path(lab.root.path) / "runs" / "a")
    assert made == {
        "PATH": "/mine",
        "HOME": "/h",
        "A": "1",
        "STANDFAST_JOB": "j",
        "STANDFAST_ATTEMPT": "2",
        "STANDFAST_ATTEMPT_ID": "a",
        "STANDFAST_FENCE": "7",
        "STANDFAST_RUN_DIR": folder,
        "STANDFAST_RECEIPT": f"{folder}/receipt.json",
        "STANDFAST_STOP_GRACE": "2.5",
    }
