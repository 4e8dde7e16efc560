"""
Reading one header of a request.

Belongs here: the look-up. Starlette's own mapping builds and encodes anew for each name, which adds up to more than
reading the body does. Not here: what any header means.
"""

from __future__ import annotations

from starlette.requests import Request


def header(request: Request, name: bytes) -> str | None:
    """
    The first header of that name, which is given in lower case, or None.
    """
    for given, value in request.scope["headers"]:
        if given == name:
            text: str = value.decode("latin-1")
            return text
    return None
