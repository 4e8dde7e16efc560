"""
The real command in processes of its own: terminals, Ctrl-C, embedded and served control planes, killed servers.
"""

from __future__ import annotations

import os
import pty
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from standfast.client import Client, Spec

Served = tuple[dict[str, str], Callable[..., subprocess.Popen[bytes]]]

STANDFAST = [sys.executable, "-m", "standfast.cli"]


@pytest.fixture
def world(tmp_path: Path) -> dict[str, str]:
    """
    An environment of its own: state folder, no configuration, only the process engine.
    """
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return {
        **kept,
        "STANDFAST_STATE_DIR": str(tmp_path / "s"),
        "STANDFAST_ENGINES": "process,fake",
        "STANDFAST_LISTEN": f"127.0.0.1:{free_port()}",
        "XDG_CONFIG_HOME": str(tmp_path / "c"),
        "XDG_STATE_HOME": str(tmp_path / "x"),
        "PYTHONUNBUFFERED": "1",
        "LANG": "C.UTF-8",
    }


def free_port() -> int:
    """
    A port that nobody listens on.
    """
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def call(world: dict[str, str], *words: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    """
    One verb to its end, without a terminal.
    """
    return subprocess.run(
        [*STANDFAST, *words],
        env=world,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def until(good: Callable[[], bool], seconds: float = 30) -> None:
    """
    Return once it is so.
    """
    end = time.monotonic() + seconds
    while not good():
        assert time.monotonic() < end, "it did not come in time"
        time.sleep(0.02)


class OnTerminal:
    """
    A verb on a terminal of its own.
    """

    def __init__(self, world: dict[str, str], *words: str) -> None:
        self._ours, theirs = pty.openpty()
        self.seen = ""
        self.process = subprocess.Popen(
            [*STANDFAST, *words],
            env={"TERM": "xterm", **world},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)

    def read_until(self, text: str, seconds: float = 30) -> None:
        """
        Read until the text is there.
        """
        end = time.monotonic() + seconds
        while text not in self.seen:
            assert time.monotonic() < end, f"{text!r} did not come; seen: {self.seen!r}"
            self._read()

    def type(self, text: str) -> None:
        """
        What a person types.
        """
        os.write(self._ours, text.encode())

    def end(self, seconds: float = 30) -> int:
        """
        Read to the end; the exit code.
        """
        end = time.monotonic() + seconds
        while self.process.poll() is None:
            assert time.monotonic() < end, f"it did not end; seen: {self.seen!r}"
            self._read()
        while self._read():
            pass
        os.close(self._ours)
        return self.process.returncode

    def _read(self) -> bool:
        if not select.select([self._ours], [], [], 0.05)[0]:
            return False
        try:
            data = os.read(self._ours, 65536)
        except OSError:  # the other side is closed
            return False
        self.seen += data.decode(errors="replace")
        return bool(data)


@pytest.fixture
def served(world: dict[str, str]) -> Iterator[Served]:
    """
    The environment with a configured server, and a function that starts it.
    """
    started: list[subprocess.Popen[bytes]] = []
    address = world["STANDFAST_LISTEN"]

    def start(*flags: str, **extra: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [*STANDFAST, "serve", *flags], env={**world, **extra}, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        started.append(process)
        host, _, port = address.partition(":")

        def listens() -> bool:
            assert process.poll() is None, "the server ended"
            with socket.socket() as probe:
                return probe.connect_ex((host, int(port))) == 0

        until(listens)
        return process

    yield {**world, "STANDFAST_SERVER": f"http://{address}"}, start
    for process in started:
        if process.poll() is None:
            process.terminate()
            process.wait(20)


def test_embedded_verbs_share_the_state_folder(world: dict[str, str]) -> None:
    """
    Without a server each verb is its own control plane, and finds what the one before it left.
    """
    ran = call(world, "run", "--name", "one", "--", "sh", "-c", "echo out; exit 3")
    listed = call({**world, "STANDFAST_LOG_LEVEL": "debug"}, "get", "jobs", "-o", "json")

    assert (ran.returncode, ran.stdout) == (8, "out\n")
    assert [job["name"] for job in msgspec.json.decode(listed.stdout)["items"]] == ["one"]
    assert call(world, "logs", "one").stdout == "[1] out\n"
    assert not (Path(world["STANDFAST_STATE_DIR"]) / "api.sock").exists()


def test_a_control_plane_that_cannot_start_says_why_and_where(world: dict[str, str], tmp_path: Path) -> None:
    """
    A sentence with the file it is about, exit 1, and the traceback in a file instead of on the terminal.
    """
    taken = tmp_path / "taken"
    taken.write_text("not a folder")
    result = call({**world, "STANDFAST_STATE_DIR": str(taken)}, "run", "--", "true")
    machine = call({**world, "STANDFAST_STATE_DIR": str(taken)}, "get", "jobs", "-o", "json")
    log = Path(result.stderr.split("Where it happened: ")[1].strip())

    assert (result.returncode, machine.returncode) == (1, 1) and result.stdout == ""
    assert f"could not start: File exists: {taken}; nothing was sent [not_started]" in result.stderr
    assert "Traceback" not in result.stderr and "Traceback" in log.read_text()
    assert msgspec.json.decode(machine.stderr)["code"] == "not_started"


def test_serve_tells_a_folder_that_is_none_from_an_address_that_is_taken(world: dict[str, str], tmp_path: Path) -> None:
    """
    Each with what it is about, exit 1.
    """
    taken = tmp_path / "taken"
    taken.write_text("not a folder")
    folder = call({**world, "STANDFAST_STATE_DIR": str(taken)}, "serve")
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        address = call(world, "serve", "--listen", f"127.0.0.1:{port}")

    assert folder.returncode == address.returncode == 1
    assert f"error: cannot start: File exists: {taken} [not_started]" in folder.stderr
    assert f"error: cannot listen on 127.0.0.1:{port}: Address already in use [address_taken]" in address.stderr


def test_two_embedded_verbs_at_once(world: dict[str, str]) -> None:
    """
    The second uses the first one's control plane, and takes over when that ends.
    """
    first = subprocess.Popen(
        [*STANDFAST, "run", "-q", "--", "sh", "-c", "sleep 2; echo first"],
        env=world,
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    socket_file = Path(world["STANDFAST_STATE_DIR"]) / "api.sock"
    until(socket_file.exists)
    second = call(world, "run", "-q", "--", "sh", "-c", "sleep 5; echo second")
    out, _ = first.communicate(timeout=60)

    assert (first.returncode, out) == (0, "first\n")
    assert (second.returncode, second.stdout) == (0, "second\n"), second.stderr


def test_a_line_says_how_it_stands_and_gets_out_of_the_way(world: dict[str, str]) -> None:
    """
    On a terminal it is drawn over itself, also without colour, with the seconds that pass; output stands above it,
    whole, and when all is over the line is gone.
    """
    script = "sleep 1.6; echo one; echo two >&2; sleep 0.6; echo three"
    shown = OnTerminal({**world, "NO_COLOR": "1"}, "run", "--", "sh", "-c", script)
    shown.read_until("1s   the engine says running")
    assert shown.end() == 0
    text = shown.seen

    assert text.count("\r● running") >= 4
    assert "\x1b" not in text
    for line in ("one", "two", "three"):
        assert f"\r{line}\r\n" in text or f"\n{line}\r\n" in text, f"{line!r} shares its line with the status"
    assert "\r● running" not in text[text.index("✓ succeeded") :]


@pytest.mark.parametrize("calm", [{"TERM": "dumb"}, {"CI": "1"}])
def test_no_line_is_drawn_for_a_log(world: dict[str, str], calm: dict[str, str]) -> None:
    """
    One line a change, and no carriage return but those of the terminal's own line ends.
    """
    shown = OnTerminal({**world, **calm}, "run", "--", "sleep", "0.8")
    assert shown.end() == 0

    assert "\r" not in shown.seen.replace("\r\n", "")


def test_nothing_is_drawn_without_a_terminal_or_when_quiet(world: dict[str, str]) -> None:
    """
    A file gets lines; -q gets nothing of ours.
    """
    quiet = OnTerminal(world, "run", "-q", "--", "sh", "-c", "sleep 0.8; echo done")

    assert "\r" not in call(world, "run", "--", "sleep", "0.8").stderr
    assert quiet.end() == 0 and quiet.seen == "done\r\n"


def test_ctrl_c_detaches_and_the_job_goes_on(world: dict[str, str]) -> None:
    """
    Exit 130; the printed run --attach works; the job was never stopped.
    """
    run = OnTerminal(world, "run", "--name", "long", "--", "sh", "-c", "echo begun; sleep 4; echo ended")
    run.read_until("begun")
    os.kill(run.process.pid, signal.SIGINT)
    assert run.end() == 130
    assert "the job goes on" in run.seen
    attach = run.seen.split("standfast run --attach ")[1].split()[0]
    again = call(world, "run", "--attach", attach)

    assert again.returncode == 0
    assert again.stdout == "begun\nended\n"


def test_colour_only_where_it_is_wanted(world: dict[str, str]) -> None:
    """
    On a terminal there is colour, with NO_COLOR none, with TERM=dumb neither colour nor redrawing.
    """
    call(world, "run", "-q", "--name", "c", "--", "true")

    def seen(**extra: str) -> str:
        terminal = OnTerminal({**world, **extra}, "get", "jobs")
        assert terminal.end() == 0
        return terminal.seen

    assert "\x1b[36m" in seen()
    assert "\x1b" not in seen(NO_COLOR="1")
    assert "\x1b" not in seen(TERM="dumb")
    assert "v succeeded" in seen(PYTHONIOENCODING="ascii", NO_COLOR="1")


def test_enter_alone_at_the_prompt_sends_nothing(served: Served) -> None:
    """
    The default answer is no; y sends.
    """
    world, start = served
    start()
    with Client(world["STANDFAST_SERVER"]) as sf:
        job = sf.jobs.run(Spec.fake(name="asked", run_s=60)).wait(until="running", timeout=20)
        first = OnTerminal(world, "cancel", "asked")
        first.read_until("[y/N]")
        assert "asked" in first.seen and job.uid in first.seen and "sf-" in first.seen
        first.type("\n")
        assert first.end() == 2
        assert job.refresh().revision == job.revision
        second = OnTerminal(world, "cancel", "asked", "--wait")
        second.read_until("[y/N]")
        second.type("y\n")
        assert second.end() == 0
        assert job.refresh().phase == "cancelled"


def test_a_served_control_plane_goes_gracefully(
    served: Served,
) -> None:
    """
    SIGTERM ends it with 0 while a job runs; the next one on the folder finds the job, which ran once.
    """
    world, start = served
    server = start()
    uid = call(world, "submit", "--name", "survivor", "--", "sh", "-c", "echo ran; sleep 3; echo done").stdout.strip()
    call(world, "wait", uid, "--for", "running")
    server.terminate()
    assert server.wait(20) == 0
    start()
    assert call(world, "wait", uid, "--timeout", "60s").returncode == 0
    assert call(world, "logs", uid, "--raw").stdout == "ran\ndone\n"
    assert call(world, "get", "attempts", uid, "-o", "fields=number").stdout == "1\n"


def test_events_are_followed_over_killed_servers(
    served: Served,
) -> None:
    """
    The server is killed and started again: the sequence has no gap and no double.
    """
    world, start = served
    server = start()
    first = call(world, "submit", "--name", "e0", "--", "true")
    assert first.returncode == 0, first.stderr
    follower = subprocess.Popen(
        [*STANDFAST, "events", "-f", "--since", "0", "-o", "json"],
        env=world,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    last = ""
    for number in range(1, 4):
        server.kill()
        server.wait(20)
        server = start()
        last = call(world, "submit", "--name", f"e{number}", "--", "true").stdout.strip()
        assert call(world, "wait", last, "--timeout", "60s").returncode == 0
    total = newest(world)
    numbers: list[int] = []
    assert follower.stdout is not None
    while not numbers or numbers[-1] < total:
        numbers.append(msgspec.json.decode(follower.stdout.readline())["seq"])
    follower.kill()
    _, err = follower.communicate()

    assert numbers == list(range(1, total + 1))
    assert "nothing missed" in err


def test_a_lost_answer_cannot_make_two(served: Served) -> None:
    """
    The server dies between commit and reply: exit 6 with the id; sending that again finds the one job.
    """
    world, start = served
    server = start(STANDFAST_FAILPOINT="commit.Submitted.after")
    lost = call({**world, "STANDFAST_RETRY_FOR_S": "1"}, "submit", "--name", "lost", "--", "true")
    assert lost.returncode == 6 and lost.stdout == "", lost.stderr
    request_id = lost.stderr.split("request id: ")[1].split()[0]
    server.wait(20)
    start()
    again = call(world, "submit", "--request-id", request_id, "--name", "lost", "--", "true")

    assert again.returncode == 0 and "it was there before" in again.stderr, again.stderr
    assert call(world, "wait", "lost", "--timeout", "60s").returncode == 0
    assert call(world, "get", "jobs", "-o", "name").stdout == again.stdout


def newest(world: dict[str, str]) -> int:
    """
    The number of the newest event.
    """
    return int(msgspec.json.decode(call(world, "get", "jobs", "-o", "json").stdout)["watch_cursor"])


def test_a_second_control_plane_on_the_folder_is_refused(
    served: Served,
) -> None:
    """
    serve says that the store is held; an embedded verb uses the server that holds it.
    """
    world, start = served
    start()
    other = call({**world, "STANDFAST_LISTEN": f"127.0.0.1:{free_port()}"}, "serve")
    assert other.returncode != 0 and "store_held" in other.stderr
    embedded = {name: value for name, value in world.items() if name != "STANDFAST_SERVER"}
    ran = call(embedded, "run", "-q", "--", "echo", "through the server")
    assert (ran.returncode, ran.stdout) == (0, "through the server\n"), ran.stderr


def test_with_tokens_only_those_who_have_one(served: Served, tmp_path: Path) -> None:
    """
    token create prints the secret once and keeps a digest; roles hold; revoke takes effect at once.
    """
    world, start = served
    file = tmp_path / "tokens.json"
    made = call(world, "token", "create", "ana", "--role", "viewer", "-f", str(file))
    secret = made.stdout.strip()
    allowed = {**world, "STANDFAST_TOKEN": secret}
    start("--tokens-file", str(file))

    assert secret not in file.read_text() and len(secret) >= 40
    assert (file.stat().st_mode & 0o777) == 0o600
    assert call(world, "get", "jobs").returncode == 4
    assert call(allowed, "get", "jobs").returncode == 0
    assert call(allowed, "submit", "--", "true").returncode == 4
    assert call(world, "token", "create", "ana", "-f", str(file)).returncode == 5
    assert "ana" in call(world, "token", "list", "-f", str(file)).stdout
    assert call(world, "token", "revoke", "ana", "-f", str(file)).returncode == 2
    assert call(world, "token", "revoke", "ana", "-y", "-f", str(file)).returncode == 0
    assert call(allowed, "get", "jobs").returncode == 4


def test_a_closed_pipe_ends_quietly(world: dict[str, str]) -> None:
    """
    `| head -1` leaves no trace of an error.
    """
    for n in range(3):
        call(world, "run", "-q", "--name", f"p{n}", "--", "true")
    shell = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m standfast.cli get jobs -o jsonl --all | head -1 | wc -l"],
        env=world,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert (shell.stdout.strip(), shell.stderr) == ("1", "")
