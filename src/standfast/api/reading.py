"""
Reading a request: its body into a type, its query into values, each complaint with the place it is about.

Belongs here: JSON and YAML, pointers, numbers, times, phases. Not here: what is done with them.
"""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any, TypeVar

import msgspec
from starlette.requests import Request

from standfast.api.bounds import body_of
from standfast.api.headers import header
from standfast.api.problems import invalid_query
from standfast.core.errors import InvalidSpec, field_error
from standfast.core.job.state import Phase
from standfast.wire import yaml

T = TypeVar("T")
JSON_TYPES = ("", "application/json")
YAML_TYPES = ("application/yaml", "application/x-yaml", "text/yaml")


class InvalidJson(InvalidSpec):
    """
    The body cannot be read at all.
    """

    code = "invalid_json"


class UnsupportedMediaType(InvalidSpec):
    """
    The body comes in a form we do not read.
    """

    code = "unsupported_media_type"


_DECODERS: dict[type, msgspec.json.Decoder[Any]] = {}


def _decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    """
    The decoder of that type, made once.
    """
    decoder = _DECODERS.get(kind)
    if decoder is None:
        decoder = _DECODERS[kind] = msgspec.json.Decoder(kind)
    return decoder


async def read_body(request: Request, kind: type[T], *, bytes_max: int, empty: T | None = None) -> T:
    """
    The body as `kind`; `empty` for a request without one.

    Raises:
        InvalidSpec: A field is wrong, missing or unknown, with its pointer. InvalidJson, UnsupportedMediaType,
        BodyTooLarge: As they say.
    """
    data = await body_of(request, bytes_max)
    if not data and empty is not None:
        return empty
    media = header(request, b"content-type") or ""
    if media not in JSON_TYPES:
        media = media.partition(";")[0].strip().lower()
    if media in YAML_TYPES:
        try:
            # In a thread, because it is slow enough to hold up everybody else.
            data = msgspec.json.encode(await asyncio.to_thread(yaml.decode, data))
        except yaml.NotYaml as error:
            raise _unreadable(f"the body is not YAML as we read it: {error}") from error
    elif media not in JSON_TYPES:
        refused = UnsupportedMediaType([])
        refused.message = f"{media} is neither JSON nor YAML"
        raise refused
    return decoded(data, kind)


def decoded(data: bytes | msgspec.Raw, kind: type[T], *, at: str = "") -> T:
    """
    JSON as `kind`; `at`: the pointer of it in the body.

    Raises:
        InvalidSpec: A field is wrong, missing or unknown, with its pointer. InvalidJson: It is no JSON.
    """
    try:
        return _decoder(kind).decode(data)
    except msgspec.ValidationError as error:
        raise InvalidSpec([field_error(error, at=at)]) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _unreadable(f"the body is not JSON: {error}") from error


def _unreadable(message: str) -> InvalidJson:
    error = InvalidJson([])
    error.message = message
    return error


def given(request: Request, name: str) -> str | None:
    """
    A query parameter as it came. Most requests have none, and then nothing is parsed.
    """
    return request.query_params.get(name) if request.scope["query_string"] else None


def number(request: Request, name: str, *, default: int, least: int, most: int | None = None) -> int:
    """
    A whole number from the query.

    Raises:
        InvalidSpec: With code `invalid_query`.
    """
    text = given(request, name)
    if text is None:
        return default
    if not text.removeprefix("-").isdecimal() or not text.isascii() or len(text) > 18:
        raise invalid_query(name, "must be a whole number")
    value = int(text)
    if value < least or (most is not None and value > most):
        raise invalid_query(name, f"must be {least} or more" if most is None else f"must be {least}..{most}")
    return value


def seconds(request: Request, name: str, *, default: float, most: float) -> float:
    """
    A number of seconds from the query, cut to `most`.
    """
    text = given(request, name)
    try:
        value = default if text is None else float(text)
    except ValueError:
        raise invalid_query(name, "must be a number of seconds") from None
    if not value >= 0:  # also no number at all
        raise invalid_query(name, "must be 0 seconds or more")
    return min(value, most)


def moment(request: Request, name: str) -> datetime | None:
    """
    An instant from the query, with its offset.
    """
    text = given(request, name)
    if text is None:
        return None
    try:
        # A plus sign that was not escaped arrives as a space.
        value = msgspec.convert(text.replace(" ", "+"), datetime)
    except msgspec.ValidationError as error:
        raise invalid_query(name, "must be a time as in RFC 3339") from error
    if value.tzinfo is None:
        raise invalid_query(name, "must name its UTC offset")
    if not 1900 < value.year < 9000:
        raise invalid_query(name, "must be a time between the years 1901 and 8999")
    return value


def words(request: Request, name: str) -> tuple[str, ...]:
    """
    A list from the query: commas, repeated parameters, or both.
    """
    return tuple(word for text in request.query_params.getlist(name) for word in text.split(",") if word)


def phases(request: Request) -> tuple[tuple[Phase, ...], tuple[Phase, ...]]:
    """
    `phase=running,!failed` as those wanted and those not.
    """
    wanted: list[Phase] = []
    unwanted: list[Phase] = []
    for word in words(request, "phase"):
        try:
            (unwanted if word.startswith("!") else wanted).append(Phase(word.removeprefix("!")))
        except ValueError:
            raise invalid_query("phase", f"no phase {word!r}; there are {', '.join(Phase)}") from None
    return tuple(wanted), tuple(unwanted)


def labels(request: Request) -> dict[str, str]:
    """
    `label=key=value`, any number of them.
    """
    found: dict[str, str] = {}
    for text in words(request, "label"):
        key, sign, value = text.partition("=")
        if not sign or not key:
            raise invalid_query("label", "must be KEY=VALUE")
        found[key] = value
    return found


def choice(request: Request, name: str, allowed: tuple[str, ...], default: str) -> str:
    """
    One word of a few.
    """
    value = given(request, name)
    if value is None:
        return default
    if value not in allowed:
        raise invalid_query(name, f"must be one of {', '.join(allowed)}")
    return value


def flag(request: Request, name: str) -> bool:
    """
    `true` or `false`, false if not given.
    """
    return choice(request, name, ("true", "false"), "false") == "true"
