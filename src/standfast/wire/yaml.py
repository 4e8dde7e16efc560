"""
YAML as a way to write JSON: what a document says is what the same JSON would say, or it is refused.

Belongs here: text to plain values. Not here: what the values mean, or how YAML is read (`yaml_loader`, imported with
the first text: a control plane may never see one). Keys are text; `on`, `yes` and `no` are text; a key given twice, an
alias, a tag, a number that JSON cannot write are mistakes, not silent choices.
"""

from __future__ import annotations

import math
from datetime import date
from typing import Any

BYTES_MAX = 256 * 1024
"""YAML is read a hundred times slower than JSON, so less of it is taken."""


class NotYaml(ValueError):
    """
    The bytes are not YAML of that kind; the message says where.
    """


def decode(data: bytes) -> Any:
    """
    The one document in `data`; None for an empty one.

    Raises:
        NotYaml: It cannot be read, is larger than `BYTES_MAX`, nested deeply, has aliases or tags, or says what JSON
            cannot.
    """
    if len(data) > BYTES_MAX:
        raise NotYaml(f"it is larger than {BYTES_MAX} bytes; JSON may be larger")
    from standfast.wire import yaml_loader

    try:
        return _plain(yaml_loader.one(data.decode()))
    except yaml_loader.Wrong as error:
        raise NotYaml(" ".join(str(error).split())) from error


def _plain(value: Any) -> Any:
    """
    The value as JSON would have it: times as text, no number without a value.
    """
    if isinstance(value, dict):
        return {_text(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise NotYaml("a number must be finite")
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise NotYaml("a whole number must fit into 64 bits")
    if isinstance(value, date):
        return value.isoformat()
    if value is None or isinstance(value, int | float):
        return value
    raise NotYaml(f"JSON knows no {type(value).__name__}")


def _text(text: str) -> str:
    """
    The text, if UTF-8 can carry it: an escape may name half of a character.
    """
    if not text.isascii():
        text.encode()
    return text
