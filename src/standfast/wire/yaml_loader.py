"""
How YAML becomes values: the safe loader, with text as keys and few words that are truth.

Belongs here: everything that needs PyYAML, so that only who reads YAML imports it. Not here: what is refused for what
it would mean (`yaml`).
"""

from __future__ import annotations

import re
from typing import Any

import yaml

DEPTH_MAX = 100

_SAFE: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_BOOL = "tag:yaml.org,2002:bool"

Wrong = (yaml.YAMLError, ValueError, OverflowError, RecursionError)
"""What reading a text that is no good YAML raises."""


def one(text: str) -> Any:
    """
    The only document of the text, without aliases, merges and tags; None if it is empty.

    Raises:
        Wrong: It is not such a text.
    """
    _shallow(text)
    return yaml.load(text, _Plain)  # noqa: S506 - it is a safe one


def _shallow(text: str) -> None:
    """
    Refuse by its events, one at a time, what is nested so deeply that building it would be a danger; aliases, with
    which a few lines can stand for billions; and tags.
    """
    depth = 0
    for event in yaml.parse(text, _SAFE):
        if isinstance(event, yaml.AliasEvent):
            raise ValueError("aliases are not read here; write it out")
        tag = getattr(event, "tag", None)
        if tag is not None:
            raise ValueError(f"the tag {tag} is not read here")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > DEPTH_MAX:
                raise ValueError(f"it is nested deeper than {DEPTH_MAX}")
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


class _Plain(_SAFE):  # type: ignore[misc]
    """
    YAML's safe subset with text as keys, each of them once.
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


_Plain.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != _BOOL]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Plain.add_implicit_resolver(_BOOL, re.compile(r"(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF"))
