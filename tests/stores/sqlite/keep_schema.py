"""
Writes the SQL of a small store of the newest schema to `schemas/NNNN.sql`; run once when a migration is released.

Usage: python tests/stores/sqlite/keep_schema.py
"""

from __future__ import annotations

import asyncio
import random
import sqlite3
import tempfile
from pathlib import Path

from standfast.stores.sqlite.file import APPLICATION_ID
from standfast.stores.sqlite.migrate import shipped
from standfast.stores.sqlite.store import SqliteStore
from standfast.testing.contracts.cases import wander
from standfast.testing.contracts.histories import HandClock, Wanderer


async def fill(path: Path) -> None:
    """
    A store with a random history, the same each time.
    """
    clock = HandClock()
    store = SqliteStore(path, clock)
    await store.begin(clock.now())
    wanderer = Wanderer(random.Random(1), clock)
    for _ in range(60):
        await wander(store, wanderer)
    await store.close()


def main() -> None:
    """
    Fill a store and dump it.
    """
    number = len(shipped())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "standfast.db"
        asyncio.run(fill(path))
        db = sqlite3.connect(path)
        sql = "\n".join(db.iterdump())
        db.close()
    head = f"PRAGMA application_id = {APPLICATION_ID};\nPRAGMA user_version = {number};\n"
    (Path(__file__).parent / "schemas" / f"{number:04d}.sql").write_text(head + sql + "\n")


if __name__ == "__main__":
    main()
