"""
Schema versions: numbered SQL files, forward only, each in a transaction of its own.

`PRAGMA user_version` is the number of the last one applied. A file in `migrations/` is never changed once released.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import apsw


@dataclass(frozen=True)
class Migration:
    """
    From schema `number - 1` to `number`.
    """

    number: int
    sql: str


def shipped() -> tuple[Migration, ...]:
    """
    The migrations of this program, in order: `migrations/NNNN_what.sql`.
    """
    found = (entry for entry in files(__package__).joinpath("migrations").iterdir() if entry.name.endswith(".sql"))
    read = sorted((Migration(int(entry.name[:4]), entry.read_text()) for entry in found), key=lambda m: m.number)
    assert [one.number for one in read] == list(range(1, len(read) + 1))
    return tuple(read)


def schema_of(db: apsw.Connection) -> int:
    """
    The number of the last migration that was applied.
    """
    return int(db.pragma("user_version"))


def migrate(db: apsw.Connection, migrations: Sequence[Migration]) -> None:
    """
    Apply whatever is missing, in order; after a crash in between, the next call goes on where it stopped.
    """
    for migration in migrations[schema_of(db) :]:
        db.execute("BEGIN IMMEDIATE")
        try:
            db.execute(migration.sql)
            db.execute(f"PRAGMA user_version = {migration.number}")
            db.execute("COMMIT")
        except BaseException:
            if not db.getautocommit():
                db.execute("ROLLBACK")
            raise


def back_up(db: apsw.Connection, path: Path) -> None:
    """
    A complete copy of the database at `path`, replacing an older one only once it is whole.
    """
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.unlink(missing_ok=True)
    copy = apsw.Connection(str(unfinished))
    with copy.backup("main", db, "main") as backup:
        backup.step()
    copy.pragma("journal_mode", "delete")
    copy.close()
    unfinished.rename(path)
