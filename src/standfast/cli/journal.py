"""
The request ids of this user: each is on disk before its request leaves, so that a crash cannot lose it.

Belongs here: one append-only file of JSON lines and its bound. Not here: sending.
"""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

BYTES_MAX = 1024 * 1024
"""Of the file; then it becomes `….1`, in the place of the one before."""


class Journal:
    """
    Remembers request ids in `path`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def intend(self, request_id: str, *, verb: str, name: str, server: str, at: datetime) -> None:
        """
        Write down, durably, that this request is about to be sent.

        Raises:
            OSError: It could not be written; the caller decides whether to send all the same.
        """
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._append({"request_id": request_id, "verb": verb, "name": name, "server": server, "at": at}, sync=True)

    def answered(self, request_id: str, uid: str) -> None:
        """
        Write down what became of it; lost without harm.
        """
        with suppress(OSError):
            self._append({"request_id": request_id, "uid": uid}, sync=False)

    def lines(self) -> list[dict[str, Any]]:
        """
        All that is remembered, oldest first; a torn last line is left out.
        """
        found: list[dict[str, Any]] = []
        for path in (self._path.with_suffix(".jsonl.1"), self._path):
            try:
                text = path.read_bytes()
            except OSError:
                continue
            for line in text.splitlines():
                try:
                    found.append(msgspec.json.decode(line, type=dict[str, Any]))
                except msgspec.MsgspecError:
                    continue
        return found

    def _append(self, record: dict[str, Any], *, sync: bool) -> None:
        try:
            if self._path.stat().st_size > BYTES_MAX:
                self._path.replace(self._path.with_suffix(".jsonl.1"))
        except FileNotFoundError:
            pass
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, msgspec.json.encode(record) + b"\n")
            if sync:
                os.fdatasync(descriptor)
        finally:
            os.close(descriptor)
