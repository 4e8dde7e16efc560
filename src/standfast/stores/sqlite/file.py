"""
How the database file is made, checked and opened. A file that is not surely ours and whole is never written to.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import apsw

from standfast.core.errors import Unavailable
from standfast.stores.sqlite import queries
from standfast.stores.sqlite.migrate import Migration, back_up, migrate, schema_of

APPLICATION_ID = 0x53467374
"""`SFst`, in the header of every file of ours, so that `file` and we can tell it from others."""

_MAGIC = b"SQLite format 3\x00"
_OPEN = apsw.SQLITE_OPEN_READWRITE


def open_file(path: Path, migrations: Sequence[Migration], *, vfs: str | None = None) -> apsw.Connection:
    """
    The writer's connection to a database of the newest schema; made if there is none, migrated if it is older.

    Before a migration a copy is left beside it as `<name>.schema-<number>.backup`. The caller holds the lock.

    Raises:
        Unavailable: `store_too_new` or `store_corrupt`; the file is as it was.
        apsw.Error, OSError: It cannot be opened or made.
    """
    if not path.exists() or path.stat().st_size == 0:
        _make(path, migrations)
    _check_header(path)
    db = apsw.Connection(str(path), flags=_OPEN, vfs=vfs)
    try:
        schema = schema_of(db)
        if schema > len(migrations):
            raise Unavailable(
                f"{path} has schema {schema}; this program knows up to {len(migrations)}",
                code="store_too_new",
                hint="Run the newer version again, or restore the backup it made before it migrated the file.",
            )
        if schema < 1:
            raise _corrupt(path, "has no schema")
        if schema < len(migrations):
            back_up(db, path.with_name(f"{path.name}.schema-{schema}.backup"))
            migrate(db, migrations)
        _prepare(db)
    except BaseException:
        db.close()
        raise
    return db


def open_reader(path: Path, *, vfs: str | None = None) -> apsw.Connection:
    """
    A connection that sees only what is durable, and cannot write.
    """
    db = apsw.Connection(str(path), flags=_OPEN, vfs=vfs)
    _prepare(db)
    db.execute("PRAGMA query_only = ON")
    db.set_busy_timeout(1000)
    return db


def _prepare(db: apsw.Connection) -> None:
    for pragma in queries.PRAGMAS:
        db.execute(pragma)


def _make(path: Path, migrations: Sequence[Migration]) -> None:
    """
    Make the whole database under another name first, so that a crash leaves either none or a complete one.
    """
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.unlink(missing_ok=True)
    os.close(os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    db = apsw.Connection(str(unfinished), flags=_OPEN)
    db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    migrate(db, migrations)
    db.close()
    unfinished.rename(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """
    Make the folder's names durable. Source: fsync(2), "does not necessarily ensure that the entry in the directory".
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _check_header(path: Path) -> None:
    """
    Read the header by hand: opening a foreign file through SQLite may already change it (it replays a left journal).

    Source: "Database File Format", sqlite.org/fileformat2.html, section 1.3.
    """
    with path.open("rb") as file:
        header = file.read(100)
    if len(header) < 100 or header[:16] != _MAGIC:
        raise _corrupt(path, "is not an SQLite database")
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise _corrupt(path, "is an SQLite database, but not a Standfast store")
    page_bytes = int.from_bytes(header[16:18], "big")
    page_bytes = 65_536 if page_bytes == 1 else page_bytes
    told, pages = header[24:28] == header[92:96], int.from_bytes(header[28:32], "big")
    log = path.with_name(path.name + "-wal")
    # A log that was not folded in yet may well hold the missing pages.
    if told and not (log.exists() and log.stat().st_size) and path.stat().st_size < pages * page_bytes:
        raise _corrupt(path, f"is cut off: {path.stat().st_size} of {pages * page_bytes} bytes")


def _corrupt(path: Path, what: str) -> Unavailable:
    return Unavailable(
        f"{path} {what}",
        code="store_corrupt",
        hint="It was left as it is. Choose another file, or restore a backup.",
    )
