"""
The command line in this process, against a real control plane with the fake and the process engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from cli_runner import Cli, Result

from standfast.cli import main
from standfast.client import Client
from standfast.testing.server import FakeServer


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FakeServer]:
    """
    One control plane for all tests of the session; each test uses job names of its own.
    """
    state = tmp_path_factory.mktemp("state")
    with FakeServer(engines=("fake", "process"), state_dir=str(state)) as running:
        yield running


@pytest.fixture
def sf(server: FakeServer) -> Iterator[Client]:
    """
    A client of it.
    """
    with Client(server.url) as client:
        yield client


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """
    A user without settings, in an empty folder.
    """
    for name in ("SERVER", "CONTEXT", "TOKEN", "TOKEN_FILE", "NAMESPACE", "OUTPUT", "STATE_DIR", "ENGINES"):
        monkeypatch.delenv(f"STANDFAST_{name}", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("STANDFAST_RETRY_FOR_S", "2")
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return work


@pytest.fixture
def cli(server: FakeServer, home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Cli:
    """
    Runs one verb against the control plane.
    """
    monkeypatch.setenv("STANDFAST_SERVER", server.url)

    def run(*words: str) -> Result:
        capfd.readouterr()
        code = main.call(list(words))
        out, err = capfd.readouterr()
        return Result(int(code), out, err)

    return run
