"""
How a file is opened: by one process at a time, migrated if it is older, and left alone if it is not ours or not whole.
"""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from standfast.core.errors import Unavailable
from standfast.ports.store import Query
from standfast.stores.sqlite.file import APPLICATION_ID
from standfast.stores.sqlite.migrate import Migration, shipped
from standfast.stores.sqlite.store import SqliteStore
from standfast.testing.contracts.cases import all_jobs
from standfast.testing.contracts.histories import Desk, HandClock

SCHEMAS = sorted((Path(__file__).parent / "schemas").glob("*.sql"))


async def _begin(path: Path, migrations: tuple[Migration, ...] | None = None) -> SqliteStore:
    store = SqliteStore(path, HandClock(), migrations=migrations)
    await store.begin(HandClock().now())
    return store


async def _refusal(path: Path, migrations: tuple[Migration, ...] | None = None) -> Unavailable:
    with pytest.raises(Unavailable) as refused:
        await _begin(path, migrations)
    return refused.value


async def _with_jobs(path: Path) -> None:
    store = await _begin(path)
    desk = Desk(store, HandClock())
    for _ in range(20):
        await desk.finished()
    await store.close()


def _content(folder: Path) -> dict[str, bytes]:
    """
    Every file of the folder but the lock.
    """
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".lock"}


async def test_a_second_store_in_this_process_is_refused(tmp_path: Path) -> None:
    """
    The refusal names the process that holds the file; once that lets go, the file can be had.
    """
    path = tmp_path / "standfast.db"
    store = await _begin(path)
    refusal = await _refusal(path)
    assert refusal.code == "store_held"
    assert f"process {os.getpid()}" in refusal.message
    await store.close()
    await (await _begin(path)).close()


async def test_a_second_process_is_refused(tmp_path: Path) -> None:
    """
    Another process is told which one holds the file, and may have it after the holder was killed.
    """
    path = tmp_path / "standfast.db"
    code = (
        "import asyncio, sys, pathlib\n"
        "from standfast.stores.sqlite.store import SqliteStore\n"
        "from standfast.testing.contracts.histories import HandClock\n"
        "async def main():\n"
        "    await SqliteStore(pathlib.Path(sys.argv[1]), HandClock()).begin(HandClock().now())\n"
        "    print('held', flush=True)\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    holder = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        refusal = await _refusal(path)
        assert (refusal.code, f"process {holder.pid}" in refusal.message) == ("store_held", True)
    finally:
        holder.kill()
        holder.communicate()
    await (await _begin(path)).close()


async def test_a_closed_store_says_so(tmp_path: Path) -> None:
    """
    Before `begin` and after `close` every call is Unavailable; closing twice is fine.
    """
    store = SqliteStore(tmp_path / "standfast.db", HandClock())
    await store.close()
    with pytest.raises(Unavailable) as closed:
        await store.load(["job_1"])
    assert closed.value.code == "store_closed"
    await store.begin(HandClock().now())
    await store.close()
    with pytest.raises(Unavailable):
        await store.slots()
    await store.close()


def _garbage(path: Path) -> None:
    path.write_bytes(b"not a database at all" * 1000)


def _foreign(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE theirs (x)")
    db.close()


def _cut_off(path: Path) -> None:
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def _spoilt(path: Path) -> None:
    """
    The header is good; everything behind the first page is not.
    """
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xa5" * (len(content) - 4096))


def _without_schema(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute("CREATE TABLE other (x)")
    db.close()


@pytest.mark.parametrize("spoil", [_garbage, _foreign, _cut_off, _spoilt, _without_schema])
async def test_a_corrupt_or_foreign_file_is_left_as_it_is(spoil: Callable[[Path], None], tmp_path: Path) -> None:
    """
    It is reported as `store_corrupt`, not a byte of it changes, nothing appears beside it, and it is not held.
    """
    path = tmp_path / "standfast.db"
    if spoil is not _foreign:
        await _with_jobs(path)
    spoil(path)
    before = _content(tmp_path)
    for _ in range(2):
        refusal = await _refusal(path)
        assert refusal.code == "store_corrupt"
    assert _content(tmp_path) == before


async def test_a_page_spoilt_later_is_told_by_whoever_reads_it(tmp_path: Path) -> None:
    """
    A damaged document is reported as `store_corrupt` by the read that meets it; the others go on.
    """
    path = tmp_path / "standfast.db"
    await _with_jobs(path)
    with sqlite3.connect(path) as db:
        db.execute("UPDATE jobs SET origin = '{\"spec\": 7}' WHERE id = 3")
        (uid,) = db.execute("SELECT uid FROM jobs WHERE id = 3").fetchone()
        (other,) = db.execute("SELECT uid FROM jobs WHERE id = 4").fetchone()
    db.close()
    store = await _begin(path)
    with pytest.raises(Unavailable) as refused:
        await store.load([uid])
    assert refused.value.code == "store_corrupt"
    assert len(await store.load([other])) == 1
    await store.close()


async def test_an_empty_file_is_a_new_store(tmp_path: Path) -> None:
    """
    A file of no bytes, and a half-made one from a crash, do not keep a store from being made; only we may read it.
    """
    path = tmp_path / "deep" / "standfast.db"
    path.parent.mkdir()
    path.touch()
    path.with_name("standfast.db.unfinished").write_bytes(b"half")
    await (await _begin(path)).close()
    assert path.stat().st_mode & 0o077 == 0
    assert sorted(_content(path.parent)) == ["standfast.db"]


async def test_a_newer_schema_is_refused(tmp_path: Path) -> None:
    """
    A file that a newer program migrated is `store_too_new`, and stays as it is.
    """
    path = tmp_path / "standfast.db"
    newer = (*shipped(), Migration(len(shipped()) + 1, "CREATE TABLE later (x)"))
    await (await _begin(path, newer)).close()
    before = _content(tmp_path)
    refusal = await _refusal(path)
    assert refusal.code == "store_too_new"
    assert _content(tmp_path) == before


async def test_an_older_schema_is_migrated_and_a_copy_kept(tmp_path: Path) -> None:
    """
    Missing migrations are applied with the jobs kept; the file as it was stays beside it.
    """
    path = tmp_path / "standfast.db"
    await _with_jobs(path)
    newer = (*shipped(), Migration(len(shipped()) + 1, "ALTER TABLE jobs ADD COLUMN later TEXT"))
    store = await _begin(path, newer)
    assert len(await all_jobs(store, Query())) == 20
    await store.close()
    with apsw.Connection(str(path)) as db:
        assert db.pragma("user_version") == len(newer)
    backup = tmp_path / f"standfast.db.schema-{len(shipped())}.backup"
    with apsw.Connection(str(backup)) as db:
        assert db.pragma("user_version") == len(shipped())
        assert db.execute("SELECT count(*) FROM jobs").get == 20


async def test_a_failed_migration_leaves_the_old_schema(tmp_path: Path) -> None:
    """
    A migration that fails half-way changes nothing; the older program can still open the file.
    """
    path = tmp_path / "standfast.db"
    await _with_jobs(path)
    broken = (*shipped(), Migration(len(shipped()) + 1, "CREATE TABLE half (x); CREATE TABLE half (x)"))
    assert (await _refusal(path, broken)).code == "store_unavailable"
    store = await _begin(path)
    assert len(await all_jobs(store, Query())) == 20
    await store.close()


@pytest.mark.parametrize("schema", SCHEMAS, ids=lambda path: path.stem)
async def test_every_schema_that_ever_was_can_be_opened(schema: Path, tmp_path: Path) -> None:
    """
    A file of each released schema, kept as SQL, opens with its jobs, events, counters and epochs, and takes new jobs.
    """
    path = tmp_path / "standfast.db"
    with sqlite3.connect(path) as db:
        db.executescript(schema.read_text())
        jobs, events = (db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in ("jobs", "events"))
        (fence,) = db.execute("SELECT max(fence) FROM epochs").fetchone()
    db.close()
    clock = HandClock()
    store = SqliteStore(path, clock)
    assert (await store.begin(clock.now())).fence == fence + 1
    found = await all_jobs(store, Query())
    assert len(found) == jobs > 10
    assert len(await store.events(limit=100_000)) == events > 30
    assert sum(slot.count for slot in await store.slots()) == jobs
    assert await store.find(found[0].namespace, found[0].request_id) == found[0]
    desk = Desk(store, clock)
    desk._number = 500
    assert await desk.finished()
    await store.close()


def test_every_schema_has_its_kept_file() -> None:
    """
    Whoever adds a migration keeps a file of the new schema too.
    """
    assert [path.stem[:4] for path in SCHEMAS] == [f"{one.number:04d}" for one in shipped()]
