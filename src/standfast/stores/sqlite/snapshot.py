"""
One moment of the store: several statements that see the same rows, though commits go on meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Any

import apsw

from standfast.core.job.state import Job
from standfast.stores.sqlite import queries
from standfast.stores.sqlite.errors import READ_ERRORS, telling, told
from standfast.stores.sqlite.rows import Row, job_of


class Snapshot:
    """
    A read transaction on the reader's connection, to be entered again and again; nothing in it may await.

    Jobs are read with their attempts. What goes wrong inside is raised as `errors.told` has it.
    """

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db
        self._attempts = db.cursor().execute

    def __enter__(self) -> Snapshot:
        with telling():
            self._db.execute("BEGIN")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._db.execute("END")
        if isinstance(error, READ_ERRORS):
            raise told(error) from error

    def rows(self, sql: str, values: tuple[Any, ...] = ()) -> Iterable[Row]:
        """
        What the statement gives, read as far as it is asked for.
        """
        return self._db.execute(sql, values)

    def row(self, sql: str, values: tuple[Any, ...] = ()) -> Row | None:
        """
        The first row; None without one.
        """
        found: Row | None = self._db.execute(sql, values).fetchone()
        return found

    def jobs(self, sql: str, values: tuple[Any, ...] = ()) -> list[Job]:
        """
        The jobs of a statement over `JOB_COLUMNS`.
        """
        return [self.job(row) for row in self._db.execute(sql, values)]

    def job(self, row: Row) -> Job:
        """
        The job of one such row.
        """
        return job_of(row, self._attempts_of)

    def _attempts_of(self, job_id: int) -> Iterable[Row]:
        return self._attempts(queries.ATTEMPTS_OF_JOB, (job_id,))
