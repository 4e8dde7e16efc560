"""
Errors as words on stderr, or as one problem document, and the exit code that goes with them.
"""

from __future__ import annotations

from typing import Any

import msgspec

from standfast.cli.exits import Exit, Quit, exit_of_phase
from standfast.cli.terminal import Terminal, inert
from standfast.cli.times import span
from standfast.client import errors
from standfast.core.errors import FieldError, StandfastError


def show(terminal: Terminal, error: Quit | errors.ClientError | StandfastError, *, machine: bool) -> int:
    """
    Say what went wrong and what to do; the exit code.
    """
    told = document(error)
    if machine:
        terminal.say(msgspec.json.encode(told).decode())
    else:
        for line in lines(told):
            terminal.say(line)
        if isinstance(error, errors.ClientError) and _sendable(error):
            terminal.say(f"      request id: {error.request_id}   (send the same again with --request-id)")
    if isinstance(error, Quit):
        return error.code
    return exit_of(error) if isinstance(error, errors.ClientError) else Exit.USAGE


def document(error: Quit | errors.ClientError | StandfastError) -> dict[str, Any]:
    """
    The error as a problem document.
    """
    if isinstance(error, errors.Problem) and error.document:
        later = {} if error.retry_after_s is None else {"retry_after_s": error.retry_after_s}
        return {**error.document, **later}
    code = error.name if isinstance(error, Quit) else error.code
    told: dict[str, Any] = {"code": code, "title": code.replace("_", " "), "detail": error.message}
    if error.hint:
        told["hint"] = error.hint
    if isinstance(error, errors.ClientError):
        told["retry"] = error.retry
        if error.request_id:
            told["request_id"] = error.request_id
    fields: tuple[FieldError, ...] = getattr(error, "errors", ())
    if fields:
        told["errors"] = [msgspec.to_builtins(field) for field in fields]
    return told


def lines(told: dict[str, Any]) -> list[str]:
    """
    The same for people: what, where, and what to do.
    """
    code = told.get("code", "error")
    fields = told.get("errors") or []
    first = told.get("title") if fields and len(fields) > 1 else told.get("detail") or told.get("title")
    found = [f"error: {inert(str(first))} [{code}]"]
    if len(fields) > 1:
        found += [
            f"  {inert(str(field.get('pointer') or '/'))}: {inert(str(field.get('message') or field.get('detail')))}"
            for field in fields
        ]
    if told.get("hint"):
        found.append(f"hint: {inert(str(told['hint']))}")
    if told.get("retry_after_s"):
        found.append(f"      not before {span(float(told['retry_after_s']))} from now, says the control plane")
    return found


def _sendable(error: errors.ClientError) -> bool:
    """
    Whether it was a change that may be sent again as it was, under the same request id.
    """
    again = isinstance(error, errors.NoAnswer | errors.Unavailable) and error.retry == "same_request"
    return again and error.request_id is not None


def exit_of(error: errors.ClientError) -> Exit:
    """
    The code for a call that went wrong.
    """
    if isinstance(error, errors.NoAnswer):
        return Exit.UNKNOWN
    if isinstance(error, errors.Unavailable) and _sendable(error):
        return Exit.UNKNOWN
    if isinstance(error, errors.WaitTimeout):
        return Exit.PENDING
    if isinstance(error, errors.CannotCome | errors.JobNotSucceeded):
        code = exit_of_phase(str(error.job.phase))
        return Exit.TROUBLE if code in (Exit.OK, Exit.PENDING) else code
    if isinstance(error, errors.Conflict | errors.KeyReused):
        return Exit.CONFLICT
    if isinstance(error, errors.Invalid):
        return Exit.USAGE
    if isinstance(error, errors.NotAllowed):
        return Exit.NOT_ALLOWED
    if isinstance(error, errors.NotFound | errors.Gone):
        return Exit.NOT_FOUND
    return Exit.TROUBLE
