"""
Who may do what: bearer tokens with roles, kept as digests only.

Belongs here: the tokens file, the roles, the check. Not here: which route needs which role (`routes`).
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from datetime import datetime
from enum import IntEnum
from pathlib import Path

import msgspec

from standfast.core.errors import FieldError, Forbidden, InvalidSpec, Unavailable

LOCAL = "local"
"""The name of whoever calls a control plane without tokens, which listens on loopback only."""


class Role(IntEnum):
    """
    Each includes those before it. VIEWER reads; OPERATOR submits and changes jobs; ADMIN resolves and deletes.
    """

    VIEWER = 1
    OPERATOR = 2
    ADMIN = 3


class Token(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    One token: who holds it, what it allows, and the SHA-256 of its secret; never the secret.
    """

    name: str
    role: str
    digest: str
    created_at: datetime | None = None


class Caller(msgspec.Struct, frozen=True):
    """
    Who calls, by the name that events will carry.
    """

    name: str
    role: Role


class TokensFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    What a tokens file holds.
    """

    version: int = 1
    tokens: tuple[Token, ...] = ()


LOOK_S = 0.01
"""Between two looks at the tokens file: a look lets go of the interpreter, and may wait for it behind a commit."""


class Tokens:
    """
    The tokens of one file, read again within `LOOK_S` of a change; a broken file lets nobody in.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._name = str(path)
        self._stamp: tuple[int, int] | None = None
        self._looked_at = 0.0
        self._by_digest: Mapping[str, Caller] = {}

    @classmethod
    def load(cls, path: Path) -> Tokens:
        """
        The tokens of the file.

        Raises:
            InvalidSpec: It is not there, or not a tokens file.
        """
        tokens = cls(path)
        tokens._refresh()
        return tokens

    def caller(self, secret: str) -> Caller | None:
        """
        Who holds this secret; None: nobody.

        Raises:
            Unavailable: The file is gone or broken.
        """
        try:
            self._refresh()
        except InvalidSpec as error:
            self._by_digest, self._stamp, self._looked_at = {}, None, 0.0
            raise Unavailable("the tokens file cannot be read, so nobody is let in", hint=error.message) from error
        # The time of this look-up tells of digests only, which lead back to no secret of 256 random bits.
        return self._by_digest.get(digest_of(secret))

    def _refresh(self) -> None:
        now = time.monotonic()
        if now - self._looked_at < LOOK_S:
            return
        try:
            stat = os.stat(self._name)  # noqa: PTH116 - asked for often
            stamp = (stat.st_mtime_ns, stat.st_size)
            if stamp != self._stamp:
                tokens = read_tokens(self._path).tokens
                self._by_digest = {t.digest: Caller(t.name, Role[t.role.upper()]) for t in tokens}
                self._stamp = stamp
            self._looked_at = now
        except FileNotFoundError as error:
            raise InvalidSpec([FieldError("/tokens_file", "not_found", f"{self._path} is not there")]) from error
        except OSError as error:
            raise InvalidSpec([FieldError("/tokens_file", "unreadable", f"{self._path}: {error.strerror}")]) from error


def digest_of(secret: str) -> str:
    """
    What is kept of a secret. It has 256 random bits, so a plain hash cannot be searched.
    """
    return "sha256:" + hashlib.sha256(secret.encode()).hexdigest()


def read_tokens(path: Path) -> TokensFile:
    """
    The tokens file.

    Raises:
        InvalidSpec: It is not one, or names a role that does not exist. FileNotFoundError: There is none.
    """
    try:
        read = msgspec.json.decode(path.read_bytes(), type=TokensFile)
    except msgspec.MsgspecError as error:
        raise InvalidSpec([FieldError("/tokens_file", "malformed", f"{path}: {error}")]) from error
    for token in read.tokens:
        if token.role.upper() not in Role.__members__:
            raise InvalidSpec([FieldError("/tokens_file", "malformed", f"{path}: no role {token.role!r}")])
    return read


def write_tokens(path: Path, tokens: TokensFile) -> None:
    """
    Replace the tokens file as a whole, durably, readable by its owner only.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(tokens)) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def authorize(tokens: Tokens | None, header: str | None, needed: Role) -> Caller:
    """
    The caller, if allowed.

    Raises:
        Forbidden: `unauthenticated` without a valid token, `forbidden` with one that allows less.
    """
    if tokens is None:
        return Caller(LOCAL, Role.ADMIN)
    scheme, _, secret = (header or "").partition(" ")
    caller = tokens.caller(secret.strip()) if scheme.lower() == "bearer" and secret else None
    if caller is None:
        raise Forbidden("no valid token came with the request", code="unauthenticated")
    if caller.role < needed:
        raise Forbidden(f"{caller.name} is {caller.role.name.lower()}, this needs {needed.name.lower()}")
    return caller
