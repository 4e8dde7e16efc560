"""
Wrapping a port so that something happens around each of its calls, and adapters stay silent.

Belongs here: the wrapper. What happens around a call is in `telemetry` (measure) and `failpoints` (die, in tests).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Protocol, TypeVar, cast

P = TypeVar("P")


class Hook(Protocol):
    """
    Something around a call.
    """

    def before(self, call: str, args: tuple[Any, ...]) -> object:
        """
        Called first; the answer is handed to `after` as `token`.
        """
        ...

    def after(self, call: str, token: object, args: tuple[Any, ...], answer: Any, error: BaseException | None) -> None:
        """
        Called last, with the answer or the error that the caller will get.
        """
        ...


class _Wrapped:
    """
    Stands in for the port: its awaitable calls go through the hook, everything else straight to it.
    """

    def __init__(self, inner: object, hook: Hook, calls: frozenset[str] | None) -> None:
        self._inner = inner
        for name, method in inspect.getmembers(inner, inspect.iscoroutinefunction):
            if not name.startswith("_") and (calls is None or name in calls):
                setattr(self, name, _through(name, method, hook))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def around(port: P, hook: Hook, calls: frozenset[str] | None = None) -> P:
    """
    The port with `hook` around each of its awaitable calls, or around those named.
    """
    return cast(P, _Wrapped(port, hook, calls))


def _through(name: str, method: Callable[..., Any], hook: Hook) -> Callable[..., Any]:
    before, after = hook.before, hook.after

    @functools.wraps(method)
    async def call(*args: Any, **named: Any) -> Any:
        token = before(name, args)
        try:
            answer = await method(*args, **named)
        except BaseException as error:
            after(name, token, args, None, error)
            raise
        after(name, token, args, answer, None)
        return answer

    return call
