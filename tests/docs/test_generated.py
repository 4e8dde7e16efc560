"""
The generated pages of the reference: current, and complete over what they describe.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from pages import DOCS, ROOT

from standfast.api.problems import CATALOGUE
from standfast.api.routes import ROUTES
from standfast.cli.verbs import VERBS
from standfast.core.failure import FailureClass
from standfast.core.job.explain import REASONS
from standfast.core.job.state import Phase
from standfast.settings import Settings
from standfast.testing.server import FakeServer


def _generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", DOCS / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATE = _generate()


def _page(name: str) -> str:
    return (DOCS / "reference" / f"{name}.md").read_text()


@pytest.mark.parametrize("page", GENERATE.PAGES)
def test_a_generated_page_is_current(page: str) -> None:
    """
    The page in the repository is what the code says now.
    """
    assert (ROOT / page).read_text() == GENERATE.PAGES[page](), "run: make docs"


def test_only_what_differs_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """
    `make docs` names the pages that it changed, and a second run changes none.
    """
    (tmp_path / "docs" / "reference").mkdir(parents=True)
    monkeypatch.setattr(GENERATE, "ROOT", tmp_path)
    GENERATE.main()
    assert len(capsys.readouterr().out.splitlines()) == len(GENERATE.PAGES)
    GENERATE.main()
    assert capsys.readouterr().out == ""


def test_everything_public_is_documented() -> None:
    """
    Every setting, route, parameter, error code, phase, reason, event, failure class and verb is on its page.
    """
    settings, api, phases = _page("settings"), _page("api"), _page("phases")
    assert all(f"| `{name}` |" in settings for name in Settings.__struct_fields__)
    assert all(f"## {route.method} {route.path}\n" in api for route in ROUTES)
    assert all(f"| `{param.name}` |" in api for route in ROUTES for param in (*route.params, *route.headers))
    assert all(f"| `{code}` |" in _page("errors") for code in CATALOGUE)
    assert all(f"| `{phase}` |" in phases for phase in Phase)
    assert all(f"`{reason}`" in phases for reasons in REASONS.values() for reason in reasons)
    assert all(f"## {event.__name__}\n" in _page("events") for event in GENERATE.EVENTS)
    assert all(f"| `{name}` |" in _page("failure-classes") for name in FailureClass)
    assert all(f"### {verb.name}" in _page("cli") for verb in VERBS)


def test_every_metric_of_a_running_control_plane_is_documented() -> None:
    """
    Whatever family `/metrics` may show is on the page, by the name under which it is shown.
    """
    page = _page("metrics")
    with FakeServer() as server:
        assert server.plane is not None
        families = list(server.plane.metrics.registry.collect())
    assert families
    for family in families:
        shown = f"{family.name}_total" if family.type == "counter" else family.name
        assert f"| `{shown}` | {family.type} |" in page
