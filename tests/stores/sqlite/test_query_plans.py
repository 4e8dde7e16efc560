"""
No question of the running store scans the jobs or the events, whatever is in the file.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import apsw
import pytest

from standfast.core.job.state import Phase
from standfast.ports.store import Query
from standfast.stores.sqlite import pages, queries
from standfast.stores.sqlite.file import open_file
from standfast.stores.sqlite.migrate import shipped
from standfast.stores.sqlite.snapshot import Snapshot
from standfast.stores.sqlite.store import SqliteStore
from standfast.testing import builders
from standfast.testing.contracts.cases import wander
from standfast.testing.contracts.histories import HandClock, Wanderer, uid_of

SORTED = {"SCHEDULED", "EVENTS_OF_FEW_JOBS"}
"""Whose few rows are sorted on purpose."""

LAZY = {"JOBS_BY_WAKE": "jobs_by_wake", "NEWEST_UID": "jobs_by_uid"}
"""Read in the order of their index, as far as needed and no further."""


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """
    A store with a random history in it.
    """
    path = tmp_path_factory.mktemp("plans") / "standfast.db"
    asyncio.run(_fill(path))
    return path


async def _fill(path: Path) -> None:
    clock = HandClock()
    store = SqliteStore(path, clock)
    await store.begin(clock.now())
    wanderer = Wanderer(random.Random(2), clock)
    for _ in range(80):
        await wander(store, wanderer)
    await store.close()


@pytest.fixture
def db(filled: Path) -> Iterator[apsw.Connection]:
    """
    Its file, opened as the store does.
    """
    opened = open_file(filled, shipped())
    yield opened
    opened.close()


def _plan(db: apsw.Connection, sql: str) -> list[str]:
    """
    Each line of the plan.
    """
    numbered = re.findall(r"\?(\d+)", sql)
    marks = max((int(one) for one in numbered), default=0) or sql.count("?")
    return [row[3] for row in db.execute("EXPLAIN QUERY PLAN " + sql, (None,) * marks)]


def _scans(plan: list[str]) -> list[str]:
    """
    Lines that walk through a whole table that grows with use.
    """
    return [line for line in plan if re.match(r"SCAN (jobs|events|attempts|labels)\b", line)]


_STATEMENTS = {
    name: sql
    for name, sql in vars(queries).items()
    if isinstance(sql, str)
    and name.isupper()
    and sql.lstrip().startswith(("SELECT", "INSERT", "UPDATE", "DELETE"))
    and "{" not in sql
    and name[0] != "_"
}


@pytest.mark.parametrize("name", _STATEMENTS)
@pytest.mark.parametrize("analysed", [False, True], ids=["fresh", "analysed"])
def test_no_statement_scans(name: str, analysed: bool, db: apsw.Connection) -> None:
    """
    Every named statement finds its rows by an index or by key, and sorts nothing unless it says so; also after somebody
    ran ANALYZE.
    """
    if analysed:
        db.execute("BEGIN; ANALYZE")
    plan = _plan(db, _STATEMENTS[name])
    if name in LAZY:
        assert len(plan) == 1 and LAZY[name] in plan[0], plan
    else:
        assert _scans(plan) == []
    if name not in SORTED:
        assert not any("TEMP B-TREE" in line for line in plan), plan


@pytest.mark.parametrize("seed", range(40))
def test_no_page_scans(seed: int, db: apsw.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Whatever is asked of a page, with few candidates or with too many to count, its statements search by an index; only
    the ids of a few candidates are ever sorted.
    """
    wanderer = Wanderer(random.Random(seed), HandClock())
    wanderer.clock.pass_s(500)
    monkeypatch.setattr(pages, "FEW", 3 if seed % 2 else 5_000)
    asked: list[str] = []

    def note(cursor: apsw.Cursor, sql: str, values: object) -> bool:
        asked.append(sql)
        return True

    db.exec_trace = note
    with Snapshot(db) as snapshot:
        pages.page(snapshot, wanderer.query(), size=5, after=None)
    db.exec_trace = None
    for sql in asked:
        if sql in ("BEGIN", "END"):
            continue
        plan = _plan(db, sql)
        assert _scans(plan) == [], (sql, plan)
        sorts = any("TEMP B-TREE" in line for line in plan)
        assert not sorts or sql.startswith("SELECT id FROM jobs INDEXED BY"), (sql, plan)


@pytest.mark.parametrize(
    "query",
    [
        Query(),
        Query(namespace="default"),
        Query(phases=(Phase.QUEUED, Phase.FAILED)),
        Query(not_phases=(Phase.SUCCEEDED,), engines=("fake",), queue="night"),
        Query(labels={"team": "blue"}),
        Query(labels={"team": "blue", "tier": "gold"}, phases=(Phase.QUEUED,)),
        Query(name="nightly"),
        Query(name_prefix="night"),
        Query(created_after=builders.START, created_before=builders.START + timedelta(seconds=60)),
        Query(retry_of=uid_of(1)),
    ],
)
def test_a_page_reads_no_more_than_it_gives(query: Query, db: apsw.Connection) -> None:
    """
    Each filter alone runs a bounded program: a few thousand steps of SQLite's machine, not some per job.
    """
    steps = 0

    def count() -> bool:
        nonlocal steps
        steps += 1
        return False

    db.set_progress_handler(count, 100)
    with Snapshot(db) as snapshot:
        pages.page(snapshot, query, size=3, after=None)
    db.set_progress_handler(None, 100)
    assert steps < 100
