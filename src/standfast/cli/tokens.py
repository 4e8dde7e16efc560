"""
`standfast token`: the file of who may do what on a control plane; it keeps digests and no secrets.

Belongs here: making, listing and revoking lines of that file, by whoever may write it. Not here: its format and the
check of a token (`standfast.api.auth`).
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from cyclopts import App, Parameter

from standfast.api.auth import Token, TokensFile, digest_of, read_tokens, write_tokens
from standfast.cli import output, table
from standfast.cli.exits import Exit, Quit
from standfast.cli.options import ASK, NOWHERE, Consent, Everywhere
from standfast.cli.session import open_session
from standfast.cli.terminal import inert
from standfast.cli.times import full_time
from standfast.core.job.spec import NAME

Role = Literal["viewer", "operator", "admin"]

File = Annotated[Path | None, Parameter(name=("--tokens-file", "-f"))]

app = App(
    name="token",
    help="Tokens of a control plane: create, list, revoke. The file keeps digests only.",
    help_format="plaintext",
    help_formatter="plain",
)


@app.command
def create(
    name: str,
    /,
    *,
    role: Role = "operator",
    tokens_file: File = None,
    out: Path | None = None,
    everywhere: Everywhere = NOWHERE,
) -> int:
    """
    Make a token and print its secret, once; the file keeps only its digest.

    Args:
        name: Who holds it; events carry this name.
        role: Default operator: submits and changes jobs. viewer reads, admin resolves and deletes.
        tokens_file: The file, default tokens.json in the state folder.
        out: Write the secret to this new file instead, readable by you only.
    """
    if not NAME.fullmatch(name):
        raise Quit(Exit.USAGE, f"{name!r}: names are 1..100 of a-z 0-9 - . _; nothing was written")
    with open_session(everywhere) as session:
        path = _path(tokens_file)
        with _locked(path):
            known = _read(path)
            if any(token.name == name for token in known.tokens):
                raise Quit(
                    Exit.CONFLICT,
                    f"{name!r} has a token already",
                    name="name_taken",
                    hint=f"standfast token revoke {name}",
                )
            secret = session.fresh_secret()
            if out is not None:
                _keep(out, secret)
            token = Token(name=name, role=role, digest=digest_of(secret), created_at=session.now())
            write_tokens(path, msgspec.structs.replace(known, tokens=(*known.tokens, token)))
        if out is None:
            session.terminal.print(secret)
        session.terminal.say(f"token of {name} ({role}) is in force; {path} keeps its digest, nobody can show it again")
        return Exit.OK


@app.command(name="list")
def list_(*, tokens_file: File = None, everywhere: Everywhere = NOWHERE) -> int:
    """
    Who holds a token, and what it allows.

    Args:
        tokens_file: The file, default tokens.json in the state folder.
    """
    with open_session(everywhere) as session:
        tokens = _read(_path(tokens_file)).tokens
        if not session.format.for_people:
            output.show_many(session.terminal, session.format, tokens)
            return Exit.OK
        rows = [
            [inert(t.name), t.role, full_time(t.created_at, utc=session.settings.utc), t.digest[:19]] for t in tokens
        ]
        for line in table.columns(("NAME", "ROLE", "CREATED", "DIGEST"), rows):
            session.terminal.print(line)
        return Exit.OK


@app.command
def revoke(name: str, /, *, tokens_file: File = None, consent: Consent = ASK, everywhere: Everywhere = NOWHERE) -> int:
    """
    Take a token out of force; a running control plane notices at its next request.

    Args:
        name: Who holds it.
        tokens_file: The file, default tokens.json in the state folder.
    """
    with open_session(everywhere) as session:
        path = _path(tokens_file)
        if not consent.yes:
            if not session.terminal.asks:
                raise Quit(
                    Exit.USAGE, "this asks first, and there is no terminal to ask on; give -y", name="no_terminal"
                )
            if session.terminal.answer(f"Revoke the token of {name} in {path}? [y/N] ").lower() not in ("y", "yes"):
                session.terminal.say("nothing was changed")
                return Exit.USAGE
        with _locked(path):
            known = _read(path)
            left = tuple(token for token in known.tokens if token.name != name)
            if len(left) == len(known.tokens):
                raise Quit(Exit.NOT_FOUND, f"{name!r} has no token in {path}", name="not_found")
            write_tokens(path, msgspec.structs.replace(known, tokens=left))
        session.terminal.say(f"the token of {name} is out of force")
        return Exit.OK


def _path(given: Path | None) -> Path:
    """
    The tokens file: the one given, the one of the settings, or the one in the state folder.
    """
    from standfast.settings import Settings

    if given is not None:
        return given.expanduser()
    settings = Settings.load()
    return Path(settings.tokens_file).expanduser() if settings.tokens_file else settings.state_path / "tokens.json"


def _read(path: Path) -> TokensFile:
    return read_tokens(path) if path.exists() else TokensFile()


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """
    One writer at a time; the lock is a file beside it, because the file itself is replaced.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _keep(path: Path, secret: str) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Quit(Exit.USAGE, f"cannot write {path}: {error}; no token was made") from error
    with os.fdopen(descriptor, "w") as file:
        file.write(secret + "\n")
