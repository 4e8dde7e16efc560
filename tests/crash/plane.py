"""
A real control plane in a process of its own, to be killed at will, and plain HTTP to talk to it.

Belongs here: start, kill, ask. Not here: what a test expects.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

START = "from standfast.settings import Settings; from standfast.wiring import run; run(Settings.load())"
FINAL = {"succeeded", "failed", "cancelled"}


def free_port() -> int:
    """
    A port of loopback that was free a moment ago.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Plane:
    """
    One state folder, and the control planes that live on it one after another.
    """

    def __init__(self, folder: Path, *, engines: str = "process") -> None:
        self.folder = folder
        self.engines = engines
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None
        self.log = folder / "serve.log"
        folder.mkdir(parents=True, exist_ok=True)

    def start(self, *, ready: bool = True, **environment: str) -> None:
        """
        Start a control plane with these variables added; returns once it answers, or has died.
        """
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", START],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env={
                    **os.environ,
                    "STANDFAST_STATE_DIR": str(self.folder / "state"),
                    "STANDFAST_LISTEN": f"127.0.0.1:{self.port}",
                    "STANDFAST_ENGINES": self.engines,
                    "STANDFAST_LOOK_EVERY_S": "1",
                    **environment,
                },
            )
        deadline = time.monotonic() + 20
        while ready and self.alive() and time.monotonic() < deadline:
            if self.ask("GET", "/readyz")[0] == 200:
                return
            time.sleep(0.02)
        if ready and self.alive():
            raise AssertionError(f"the control plane did not get ready:\n{self.log.read_text()[-4000:]}")

    def alive(self) -> bool:
        """
        Whether the control plane runs.
        """
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        """
        SIGKILL, and wait until it is gone.
        """
        if self.process is not None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(10)

    def stop(self) -> int:
        """
        SIGTERM, and its exit status.
        """
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(30)

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """
        Status and JSON of one request; status 0 if there was no answer.
        """
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data=data, method=method)
        request.add_header("Content-Type", "application/json")
        for name, value in headers.items():
            request.add_header(name.replace("_", "-"), value)
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                return response.status, _parsed(response.read())
        except urllib.error.HTTPError as error:
            return error.code, _parsed(error.read())
        except (OSError, ValueError):
            return 0, None

    def submit(self, name: str, spec: dict[str, Any], *, key: str) -> str | None:
        """
        Submit with a request id; the uid, or None if there was no answer.
        """
        status, answer = self.ask("POST", "/v1/jobs", {"name": name, "request_id": key, "spec": spec})
        assert status in (0, 200, 201, 503), answer
        return answer["uid"] if status in (200, 201) else None

    def insist(self, name: str, spec: dict[str, Any], *, key: str) -> str:
        """
        Submit until there is an answer.
        """
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            uid = self.submit(name, spec, key=key)
            if uid is not None:
                return uid
            time.sleep(0.05)
        raise AssertionError("no answer to a submission")

    def job(self, uid: str) -> dict[str, Any]:
        """
        The job as the API shows it.
        """
        status, answer = self.ask("GET", f"/v1/jobs/{uid}")
        assert status == 200, (status, answer)
        return dict(answer)

    def attempts(self, uid: str) -> list[dict[str, Any]]:
        """
        The job's attempts.
        """
        status, answer = self.ask("GET", f"/v1/jobs/{uid}/attempts")
        assert status == 200, (status, answer)
        return list(answer["items"])

    def wait(self, uid: str, phases: set[str] = FINAL, *, timeout_s: float = 30) -> dict[str, Any]:
        """
        The job once it is in one of the phases.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            job = self.job(uid)
            if job["phase"] in phases:
                return job
            if time.monotonic() > deadline:
                raise AssertionError(f"{uid} is {job['phase']}: {job.get('why')}\n{self.log.read_text()[-3000:]}")
            time.sleep(0.02)


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return data.decode(errors="replace")


def living(handle: str) -> list[int]:
    """
    Pids of processes, keepers aside, that carry the handle in their environment.
    """
    mark = f"STANDFAST_ATTEMPT_ID={handle}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def end_jobs(folder: Path) -> None:
    """
    Kill every process whose environment or command line names the folder.
    """
    mark = str(folder).encode()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                seen = (entry / "environ").read_bytes() + (entry / "cmdline").read_bytes()
                if mark in seen and b"pytest" not in (entry / "cmdline").read_bytes():
                    os.kill(int(entry.name), signal.SIGKILL)
            except OSError:
                continue
