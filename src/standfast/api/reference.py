"""
The reference pages of the interface, written from route table and catalogue, so that they cannot be out of date.

Belongs here: Markdown. `python -m standfast.api.reference [FOLDER]` writes the pages below the repository's folder.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec

from standfast.api.openapi import ALWAYS, WITH_TOKEN, codes_of
from standfast.api.problems import BASE, CATALOGUE
from standfast.api.route import Param, Route
from standfast.api.routes import ROUTES

_WRITTEN = "<!-- Written by `python -m standfast.api.reference`; a test holds it equal to the code. -->"

_RETRY = {
    "never": "sending it again gives the same answer",
    "same_request": "send the very same request again; that cannot do it twice",
    "later": "send it again later, as `Retry-After` says if it is there",
    "after_fix": "change what the answer names, then send it again",
}

_HEAD = f"""\
# HTTP interface

{_WRITTEN}

JSON in UTF-8 both ways, field names in snake_case, times in RFC 3339 and UTC, uids opaque. Requests with fields or
query parameters that we do not know are refused, by name; answers may grow, so ignore what you do not know. Bodies may
also be YAML (`Content-Type: application/yaml`, at most 256 KiB, no aliases and no tags).

- **Who may**: `Authorization: Bearer TOKEN`. A *viewer* reads, an *operator* also submits and changes jobs, an *admin*
  also resolves and deletes. Without a tokens file the server listens on this machine only and takes everyone for an
  admin, except pages of other sites.
- **Sending again is safe**: `Idempotency-Key` (or `request_id` in the body) names a submission within its namespace.
  The same body again, in whatever order of keys, gives the job that is there, with 200 and `Idempotent-Replayed: true`;
  another body is refused with `idempotency_key_reused` and both digests. A refused request does not use up its key.
- **Revisions**: `ETag` is the job's revision; `If-Match` makes a change depend on it, else 412.
- **Pages**: `next_page_token` leads on and is bound to the filter. `watch_cursor` is where to follow events from, so
  that nothing after the page is missed.
- **Streams**: server-sent events, asked for with `Accept: text/event-stream` or `follow=true`. `id` is the cursor;
  reconnect with `Last-Event-ID` (or `cursor=`) and nothing is missed or told twice, however long you were away. A
  `bookmark` at least every 15 s moves the cursor of a quiet stream. A slow reader holds up only itself: what it has
  not taken waits in the store. A cursor that this store cannot have given is 410 `cursor_expired`.
- **Errors** are problem documents ([errors](errors.md)). Every route may answer
  {{always}};
  every one that needs a token also {{token}}.
- The same as a machine reads it: `/openapi.json`, OpenAPI 3.1.
"""


def api_page() -> str:
    """
    docs/reference/api.md.
    """
    always, token = (", ".join(f"`{code}`" for code in codes) for codes in (ALWAYS, WITH_TOKEN))
    lines = [_HEAD.format(always=always, token=token), "| method | path | role | what |", "|---|---|---|---|"]
    for route in ROUTES:
        lines.append(f"| {route.method} | [`{route.path}`](#{_anchor(route)}) | {_role(route)} | {route.summary} |")
    lines.append("")
    for route in ROUTES:
        lines += _route(route)
    return "\n".join(lines).rstrip() + "\n"


def errors_page() -> str:
    """
    docs/reference/errors.md.
    """
    lines = [
        "# Errors",
        "",
        _WRITTEN,
        "",
        "Every refusal is a problem document (RFC 9457, `application/problem+json`): `type`, `title`, `status`,",
        "`code`, `detail`, `hint`, `retry`, `instance`, `request_id`, and in `errors` the place of each mistake: a",
        f"JSON pointer, or `?PARAMETER`. `type` is `{BASE}` and the code.",
        "A code never changes its meaning and is never used again.",
        "`GET /v1/problems` serves this list.",
        "",
        "`retry` says what sending again does:",
        "",
        *(f"- `{word}`: {meaning}" for word, meaning in _RETRY.items()),
        "",
        "| code | status | what it means | retry | what to do |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| `{kind.code}` | {kind.status} | {kind.title} | `{kind.retry}` | {kind.hint} |"
        for kind in CATALOGUE.values()
    ]
    return "\n".join(lines) + "\n"


PAGES: Mapping[str, Callable[[], str]] = {"docs/reference/api.md": api_page, "docs/reference/errors.md": errors_page}
"""By path in the repository."""


def main(folder: Path) -> None:
    """
    Write the pages below `folder`.
    """
    for name, page in PAGES.items():
        (folder / name).write_text(page())


def _route(route: Route) -> Iterator[str]:
    yield from (f"## {route.method} {route.path}", "", f"{route.summary} Role: {_role(route)}.", "")
    if route.body is not None:
        yield from (f"Body: `{route.body.__name__}`. {_prose(route.body)}", "")
        yield from _fields(route.body)
    if route.params or route.headers:
        yield from ("| parameter | in | what |", "|---|---|---|")
        yield from (_parameter(param, "query") for param in route.params)
        yield from (_parameter(param, "header") for param in route.headers)
        yield ""
    yield from ("| answer | what |", "|---|---|")
    for status, kinds in route.answers.items():
        named = " or ".join(f"`{kind if isinstance(kind, str) else kind.__name__}`" for kind in kinds) or "nothing"
        yield f"| {status} | {named} |"
    for name, meaning in route.sends.items():
        yield f"| `{name}` | {meaning} |"
    own = [code for code in codes_of(route) if code not in (*ALWAYS, *WITH_TOKEN)]
    for code in own:
        yield f"| {CATALOGUE[code].status} | [`{code}`](errors.md) {CATALOGUE[code].title} |"
    yield ""


def _fields(kind: type) -> Iterator[str]:
    yield from ("| field | needed |", "|---|---|")
    for field in msgspec.structs.fields(kind):
        yield f"| `{field.encode_name}` | {'yes' if field.required else 'no'} |"
    yield ""


def _parameter(param: Param, place: str) -> str:
    allowed = param.schema.get("enum")
    words = " One of " + ", ".join(f"`{word}`" for word in allowed) + "." if isinstance(allowed, list) else ""
    many = " May be given more than once." if param.many else ""
    return f"| `{param.name}` | {place} | {param.meaning}{words}{many} |"


def _prose(kind: type) -> str:
    return " ".join((kind.__doc__ or "").split())


def _role(route: Route) -> str:
    return "none" if route.role is None else route.role.name.lower()


def _anchor(route: Route) -> str:
    text = f"{route.method} {route.path}".lower()
    return "".join(c for c in text if c.isalnum() or c in " -_").replace(" ", "-")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path.cwd())
