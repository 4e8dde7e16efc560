"""
YAML as a way to write JSON: what a document says is what the same JSON would say, or it is refused.

Belongs here: text to plain values. Not here: what the values mean. Keys are text; `on`, `yes` and `no` are text; a key
given twice, an alias, a tag, a number that JSON cannot write are mistakes, not silent choices.
"""

from __future__ import annotations

import math
import re
from datetime import date
from typing import Any

import yaml

BYTES_MAX = 256 * 1024
"""YAML is read a hundred times slower than JSON, so less of it is taken."""

DEPTH_MAX = 100

_SAFE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BOOL = "tag:yaml.org,2002:bool"


class NotYaml(ValueError):
    """
    The bytes are not YAML of that kind; the message says where.
    """


def decode(data: bytes) -> Any:
    """
    The one document in `data`; None for an empty one.

    Raises:
        NotYaml: It cannot be read, is larger than `BYTES_MAX`, nested deeper than `DEPTH_MAX`, or says what JSON
            cannot.
    """
    if len(data) > BYTES_MAX:
        raise NotYaml(f"it is larger than {BYTES_MAX} bytes; JSON may be larger")
    try:
        text = data.decode()
        _shallow(text)
        return _plain(yaml.load(text, _Loader))  # noqa: S506 - it is a safe one
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
        raise NotYaml(" ".join(str(error).split())) from error


def _shallow(text: str) -> None:
    """
    Refuse by its events, one at a time, what is nested so deeply that building it would be a danger; aliases, with
    which a few lines can stand for billions; and tags.
    """
    depth = 0
    for event in yaml.parse(text, _SAFE):
        if isinstance(event, yaml.AliasEvent):
            raise NotYaml("aliases are not read here; write it out")
        tag = getattr(event, "tag", None)
        if tag is not None:
            raise NotYaml(f"the tag {tag} is not read here")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEPTH_MAX:
                raise NotYaml(f"it is nested deeper than {DEPTH_MAX}")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


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


class _Loader(_SAFE):  # type: ignore[misc]
    """
    YAML's safe subset with text as keys.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[str, Any]:
        """
        The mapping of the node.
        """
        built: dict[str, Any] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.value == "<<":
                raise yaml.constructor.ConstructorError(None, None, "a key must be text", key.start_mark)
            if key.value in built:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key.value!r} is given twice", key.start_mark
                )
            built[key.value] = self.construct_object(value, deep=deep)
        return built


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != _BOOL]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(_BOOL, re.compile(r"(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF"))
