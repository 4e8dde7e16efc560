"""
Following a job from a program and from a notebook.
"""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from standfast.client import AsyncClient, Client, JobView, Spec, WaitTimeout
from standfast.client.showing import Cell, Lines, here
from standfast.testing.server import FakeServer


class Notebook:
    """
    What a kernel offers to code in a cell, as far as it is used; `cells` holds what each output shows.
    """

    def __init__(self) -> None:
        self.cells: list[list[str]] = []

    def display(self, view: Any, *, display_id: bool) -> Any:
        """
        A new output, with the handle to update it.
        """
        shown = [view._repr_html_()]
        self.cells.append(shown)
        return SimpleNamespace(update=lambda view: shown.append(view._repr_html_()))


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Notebook:
    """
    This process as if it were a kernel.
    """
    book = Notebook()
    ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    display.display = book.display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return book


def test_follow_shows_each_change_once_and_returns_the_end(sf: Client) -> None:
    """
    Every view is newer than the one before it; the last one is the final job.
    """
    seen: list[Any] = []
    job = sf.jobs.run(Spec.fake(run_s=0.3, name="shown"))
    done = job.follow(show=seen.append, timeout=20)

    assert isinstance(done, JobView) and done.phase == "succeeded"
    assert [view.revision for view in seen] == sorted({view.revision for view in seen})
    assert seen[-1] == done
    again: list[Any] = []
    assert sf.jobs.follow(done.uid, show=again.append) == done
    assert again == [done]


def test_a_follow_that_takes_too_long_leaves_the_job_alone(sf: Client) -> None:
    """
    It is a wait that is over, told in the caller's own seconds.
    """
    job = sf.jobs.run(Spec.fake(run_s=60, name="longer"))
    with pytest.raises(WaitTimeout, match=r"after 0\.2s$"):
        job.follow(show=lambda view: None, timeout=0.2)
    with pytest.raises(ValueError, match="timeout"):
        job.follow(timeout=-1)
    assert not job.refresh().final
    job.cancel()


def test_in_a_notebook_one_cell_is_kept_up_to_date(sf: Client, notebook: Notebook) -> None:
    """
    No new output for each change.
    """
    sf.jobs.run(Spec.fake(run_s=0.3, name="celled")).follow(timeout=20)
    ((*_, last),) = notebook.cells

    assert len(notebook.cells[0]) >= 2
    assert "succeeded" in last and "celled" in last


async def test_the_async_client_follows_alike(server: FakeServer, notebook: Notebook) -> None:
    """
    On the loop that a notebook runs anyway.
    """
    async with AsyncClient(server.url) as sf:
        job = await sf.jobs.run(Spec.fake(run_s=0.3, name="celled"))
        done = await job.follow(timeout=20)

    assert done.phase == "succeeded" and "succeeded" in notebook.cells[0][-1]


def test_elsewhere_each_change_is_a_line(sf: Client, capsys: pytest.CaptureFixture[str]) -> None:
    """
    On stderr, because stdout is the program's; control characters of others stay out of the terminal.
    """
    assert isinstance(here(), Lines) and not isinstance(here(), Cell)
    sf.jobs.run(Spec.fake(name="lined", ending="failed", message="bad \x1b[31mnews\nmore")).follow(timeout=20)
    out, err = capsys.readouterr()

    assert out == "" and "\x1b" not in err
    assert all("lined job_" in line for line in err.splitlines())
    assert "✗ failed" in err.splitlines()[-1]
