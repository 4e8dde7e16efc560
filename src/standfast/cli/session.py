"""
What a verb works with: a terminal, settings, a clock, and a client that is connected when first used.

Belongs here: putting these together from flags, and taking them apart again. Not here: words for people.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from standfast.cli.contexts import ClientSettings, resolve
from standfast.cli.exits import Exit, Quit
from standfast.cli.journal import Journal
from standfast.cli.options import Everywhere
from standfast.cli.output import Format, parse_format
from standfast.cli.strays import sentences
from standfast.cli.terminal import Colour, Terminal
from standfast.core.errors import StandfastError
from standfast.system.clock import SystemClock
from standfast.system.ids import SystemIds

if TYPE_CHECKING:
    import httpx2

    from standfast.client import Client

_FLAGS = ("server", "context", "namespace", "token_file", "output", "color", "utc")


class Session:
    """
    One run of one verb.
    """

    def __init__(self, everywhere: Everywhere, stack: ExitStack) -> None:
        self._stack = stack
        self.settings: ClientSettings = resolve({name: getattr(everywhere, name) for name in _FLAGS})
        if self.settings.color not in ("auto", "always", "never"):
            raise Quit(Exit.USAGE, f"color must be auto, always or never, not {self.settings.color!r}")
        self.terminal = Terminal(colour=cast(Colour, self.settings.color))
        self.format: Format = parse_format(self.settings.output)
        for sentence in sentences(os.environ):
            self.terminal.say(sentence)
        self.journal = Journal(self.settings.journal)
        self._clock = SystemClock()
        self._ids = SystemIds()

    def now(self) -> datetime:
        """
        Aware UTC.
        """
        return self._clock.now()

    def fresh_request_id(self) -> str:
        """
        A request id that was never given before.
        """
        return self._ids.request_id()

    def fresh_secret(self) -> str:
        """
        A secret for a token.
        """
        return self._ids.secret()

    @property
    def embedded(self) -> bool:
        """
        Whether no server is configured, so that this process opens the state folder itself.
        """
        return self.settings.server is None

    @property
    def where(self) -> str:
        """
        The control plane, for people.
        """
        if self.settings.server is None:
            return f"embedded  {self.client_folder}"
        named = f"{self.settings.context}  " if self.settings.context else ""
        return f"{named}{self.settings.server}"

    @property
    def plans(self) -> Path:
        """
        The folder of this user's plans.
        """
        return self.settings.journal.with_name("plans")

    @property
    def client_folder(self) -> str:
        """
        The state folder of an embedded control plane.
        """
        from standfast.settings import Settings

        return str(Settings.load().state_path)

    @cached_property
    def client(self) -> Client:
        """
        The client, connected to the configured server, or to the state folder's own control plane.
        """
        from standfast.client import Client

        if self.settings.server is not None:
            self._warn_of_plain_text(self.settings.server)
            made = Client(
                self.settings.server,
                token=self.settings.token,
                namespace=self.settings.namespace,
                retry_for_s=self.settings.retry_for_s,
                told=self._tell,
            )
        else:
            made = self._embedded()
        return self._stack.enter_context(made)

    def _warn_of_plain_text(self, server: str) -> None:
        """
        Say it if a token is about to cross a network where everyone can read it.
        """
        parts = urlsplit(server)
        local = parts.hostname in ("127.0.0.1", "localhost", "::1")
        if self.settings.token and parts.scheme == "http" and not local:
            self.terminal.say(f"warning: the token goes to {server} unencrypted; use https")

    def _embedded(self) -> Client:
        import httpx2

        from standfast.cli import embedded, trouble
        from standfast.client import Client

        try:
            reached = self._stack.enter_context(embedded.reach())
        except (Quit, StandfastError):
            raise
        except Exception as error:  # whatever a disk, a plug-in or a bug of ours raises
            raise trouble.not_started(error, folder=self.client_folder, log=self.settings.journal.parent) from error
        inner = httpx2.HTTPTransport(uds=reached.socket) if reached.socket else httpx2.HTTPTransport()
        return Client(
            reached.server,
            token=self.settings.token,
            namespace=self.settings.namespace,
            retry_for_s=self.settings.retry_for_s,
            told=self._tell,
            transport=cast("httpx2.BaseTransport", _Ensuring(inner, reached.ensure)),
        )

    def _tell(self, sentence: str) -> None:
        self.terminal.say(self.terminal.talk.paint(f"-- {sentence} --", "dim"))

    def intend(self, request_id: str, *, verb: str, name: str) -> None:
        """
        Write the request id down before it is sent; if that fails, say so and go on.
        """
        try:
            self.journal.intend(
                request_id, verb=verb, name=name, server=self.settings.server or "embedded", at=self.now()
            )
        except OSError as error:
            self.terminal.say(f"warning: the request id {request_id} could not be written down: {error}")


class _Ensuring:
    """
    A transport that, when nobody answers, sees to it that somebody does before the next try.
    """

    def __init__(self, inner: httpx2.BaseTransport, ensure: Any) -> None:
        self._inner = inner
        self._ensure = ensure

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """
        The inner transport's answer.
        """
        import httpx2

        try:
            return self._inner.handle_request(request)
        except httpx2.ConnectError:
            with suppress(Exception):  # the next try of the request tries again, and says that nobody answers
                self._ensure()
            raise

    def __enter__(self) -> _Ensuring:
        self._inner.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._inner.__exit__(*exception)

    def close(self) -> None:
        """
        Let the connections go.
        """
        self._inner.close()


@contextmanager
def open_session(everywhere: Everywhere) -> Iterator[Session]:
    """
    A session that lets everything go at the end of the block.
    """
    with ExitStack() as stack:
        yield Session(everywhere, stack)
