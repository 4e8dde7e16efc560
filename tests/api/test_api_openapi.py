"""
The description: valid, complete, current, and kept to by every answer that generated requests get.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx2
import jsonschema_rs
import msgspec
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase
from hypothesis import settings as hypothesis_settings
from schemathesis.specs.openapi import checks as openapi_checks
from schemathesis.specs.openapi.definitions import OPENAPI_31

from standfast.api import reference
from standfast.api.openapi import codes_of, document
from standfast.api.problems import CATALOGUE
from standfast.api.routes import ROUTES
from standfast.testing.server import FakeServer

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "standfast"
RAISED = re.compile(r"(?:Unavailable|NotFound|Gone|Conflict|Forbidden|Rejected)\(((?:[^()]|\([^()]*\))*)\)")


def test_it_is_openapi_3_1() -> None:
    """
    By the specification's own schema, and every reference leads somewhere.
    """
    told = msgspec.to_builtins(document(ROUTES))
    jsonschema_rs.validator_for(OPENAPI_31).validate(told)
    schemas = told["components"]["schemas"]
    references = set(re.findall(r'"\$ref":"#/components/schemas/([^"]+)"', msgspec.json.encode(told).decode()))
    assert references <= schemas.keys()
    assert len({op["operationId"] for path in told["paths"].values() for op in path.values()}) == len(ROUTES)


async def test_what_is_served_names_every_route(http: httpx2.AsyncClient) -> None:
    """
    `/openapi.json` is that document: each method on each path, each with what it needs and may refuse.
    """
    told = (await http.get("/openapi.json")).json()
    served = {(method.upper(), path) for path, some in told["paths"].items() for method in some}
    assert served == {(route.method, route.path) for route in ROUTES}
    for route in ROUTES:
        operation = told["paths"][route.path][route.method.lower()]
        documented = {status for status in operation["responses"] if int(status) >= 400}
        assert documented >= {str(CATALOGUE[code].status) for code in codes_of(route)}, route.path
        assert (operation["security"] == []) == (route.role is None)


@pytest.mark.parametrize("page", reference.PAGES)
def test_the_reference_is_current(page: str) -> None:
    """
    The pages in the repository are what `python -m standfast.api.reference` writes.
    """
    assert (ROOT / page).read_text() == reference.PAGES[page](), "run: python -m standfast.api.reference"


def test_every_code_is_documented() -> None:
    """
    Each code that any source file gives to an error is in the catalogue, and each row in docs/reference/errors.md.
    """
    page = (ROOT / "docs" / "reference" / "errors.md").read_text()
    for code in CATALOGUE:
        assert f"`{code}`" in page
    used: dict[str, Path] = {}
    for path in SOURCES.rglob("*.py"):
        if path.is_relative_to(SOURCES / "client") or path.is_relative_to(SOURCES / "cli"):
            continue
        for call in RAISED.findall(path.read_text()):
            for code in re.findall(r'\bcode="(\w+)"', call):
                used.setdefault(code, path)
    assert used, "the search finds nothing any more"
    assert {code: path for code, path in used.items() if code not in CATALOGUE} == {}


@pytest.fixture(scope="module")
def server() -> Any:
    """
    A real server, for requests that a client library would not make.
    """
    with FakeServer() as running:
        yield running


SCHEMA = schemathesis.openapi.from_dict(msgspec.to_builtins(document(ROUTES)))

NOT_CHECKED = [
    # Names, labels and engines have rules that a JSON schema of types does not tell.
    openapi_checks.positive_data_acceptance,
]


@SCHEMA.include(method="GET").parametrize()
@hypothesis_settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_generated_reads_get_documented_answers(case: schemathesis.Case, server: FakeServer) -> None:
    """
    Whatever is asked, the answer is one that the description has; never a fault of ours.
    """
    _ask(case, server)


@SCHEMA.exclude(method="GET").parametrize()
@hypothesis_settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_generated_changes_get_documented_answers(case: schemathesis.Case, server: FakeServer) -> None:
    """
    Whatever is sent, likewise.
    """
    _ask(case, server)


def _ask(case: schemathesis.Case, server: FakeServer) -> None:
    # Held-back answers and endless streams are other tests' business.
    for name in ("wait", "follow"):
        case.query.pop(name, None)
    case.headers.pop("accept", None)
    excluded = list(NOT_CHECKED)
    if case.path == "/v1/jobs/batch":
        # A wrong job of a batch is refused in its own place of a good answer.
        excluded.append(openapi_checks.negative_data_rejection)
    case.call_and_validate(base_url=server.url, timeout=20, excluded_checks=excluded)
