"""
Our own manifest: `apiVersion: standfast/v1`, `kind: Job`, one or more YAML documents in a file.

Belongs here: text to checked core specs, every mistake with its JSON pointer; pure. Not here: other kinds of manifest,
files, sending. JSON is YAML, so it is read too.

Shape of one document::

    apiVersion: standfast/v1
    kind: Job
    metadata: {name: orders-etl, namespace: default, labels: {team: payments}}
    spec: {engine: process, program: {argv: [./etl.sh]}, retry: {max_attempts: 3}}
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec
import yaml

from standfast.core.errors import FieldError, InvalidSpec, field_error
from standfast.core.job.spec import Spec, check, check_names, digest

_T = TypeVar("_T")

API_VERSION = "standfast/v1"
KIND = "Job"

TEXT_BYTES_MAX = 4 * 1024 * 1024
NODES_MAX = 200_000
"""Values in one document once all its aliases are written out; a few lines of aliases could stand for billions."""


class Metadata(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """
    What the job is called. namespace None: that of whoever submits it.
    """

    name: str
    namespace: str | None = None
    labels: Mapping[str, str] = {}


class JobManifest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """
    One checked document.
    """

    metadata: Metadata
    spec: Spec

    @property
    def request_id(self) -> str:
        """
        The same for the same document: its name, and the digest of all that it says.
        """
        told = digest((self.metadata.namespace, self.metadata.name, self.metadata.labels, self.spec))
        return f"apply-{self.metadata.name}-{told.removeprefix('sha256:')[:32]}"


def parse(text: str) -> list[JobManifest]:
    """
    Every document of the text, in order; empty documents are left out.

    Args:
        text: YAML, at most 4 MiB.

    Raises:
        InvalidSpec: Every mistake of every document; in a text of several each pointer begins with `#` and the
            document's number from 1.
    """
    if len(text.encode()) > TEXT_BYTES_MAX:
        raise InvalidSpec([FieldError("", "too_large", "is larger than 4 MiB")])
    try:
        documents = [found for found in yaml.load_all(text, Loader=_Loader) if found is not None]
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise InvalidSpec([FieldError("", "malformed", f"is not YAML: {_one_line(error)}")]) from error
    if not documents:
        raise InvalidSpec([FieldError("", "malformed", "has no document")])
    wrong: list[FieldError] = []
    manifests: list[JobManifest] = []
    for number, document in enumerate(documents, 1):
        try:
            manifests.append(_job(document))
        except InvalidSpec as error:
            where = f"#{number}" if len(documents) > 1 else ""
            wrong += [FieldError(where + e.pointer, e.code, e.message) for e in error.errors]
    if wrong:
        raise InvalidSpec(wrong)
    return manifests


def render(manifest: JobManifest) -> str:
    """
    The document as YAML; `parse` of it is equal to it.
    """
    document = {"apiVersion": API_VERSION, "kind": KIND, **msgspec.to_builtins(manifest)}
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True)


def _job(document: Any) -> JobManifest:
    if not isinstance(document, dict):
        raise InvalidSpec([FieldError("", "malformed", "must be a mapping")])
    _bounded(document)
    wrong = []
    if document.get("apiVersion") != API_VERSION:
        wrong.append(FieldError("/apiVersion", "unknown_manifest", f"must be {API_VERSION}"))
    if document.get("kind") != KIND:
        wrong.append(FieldError("/kind", "unknown_manifest", f"must be {KIND}"))
    if wrong:
        raise InvalidSpec(wrong)
    wrong += [
        FieldError("/" + _escaped(str(key)), "unknown_field", "no such field")
        for key in document
        if key not in ("apiVersion", "kind", "metadata", "spec")
    ]
    metadata = _part(document.get("metadata", {}), Metadata, "/metadata", wrong)
    spec = _part(document.get("spec", {}), Spec, "/spec", wrong)
    if metadata is not None:
        wrong += [
            FieldError("/metadata" + e.pointer, e.code, e.message)
            for e in check_names(metadata.name, metadata.namespace or "default", metadata.labels)
        ]
    if spec is not None:
        wrong += check(spec)
    if wrong or metadata is None or spec is None:
        raise InvalidSpec(wrong)
    return JobManifest(metadata=metadata, spec=spec)


def _part(value: Any, kind: type[_T], at: str, wrong: list[FieldError]) -> _T | None:
    """
    The value as `kind`, or None with the complaint added to `wrong`.
    """
    try:
        return msgspec.convert(value, kind, str_keys=True)
    except msgspec.ValidationError as error:
        wrong.append(field_error(error, at=at))
        return None


def _bounded(document: Any) -> None:
    """
    Refuse a document that its aliases blow up, or that contains itself.
    """
    sizes: dict[int, int] = {}
    open_now: set[int] = set()

    def size(node: Any) -> int:
        if not isinstance(node, dict | list):
            return 1
        known = sizes.get(id(node))
        if known is not None:
            return known
        if id(node) in open_now:
            raise InvalidSpec([FieldError("", "malformed", "an alias contains itself")])
        open_now.add(id(node))
        parts = node.values() if isinstance(node, dict) else node
        sizes[id(node)] = total = 1 + sum(map(size, parts))
        open_now.discard(id(node))
        return total

    if size(document) > NODES_MAX:
        raise InvalidSpec([FieldError("", "too_large", f"stands for more than {NODES_MAX} values")])


class _Loader(yaml.SafeLoader):
    """
    YAML's safe subset with what JSON would say: keys are text, and a key given twice is a mistake, not a silent choice.

    Of the many words that YAML 1.1 takes for truth only `true` and `false` are taken, so that `on:` and `no` are text.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """
        The mapping of the node.
        """
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(None, None, "a key must be text", key.start_mark)
            if key.value in seen and key.tag != "tag:yaml.org,2002:merge":
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key.value!r} is given twice", key.start_mark
                )
            seen.add(key.value)
        self.flatten_mapping(node)
        return {key.value: self.construct_object(value, deep=deep) for key, value in node.value}


_BOOL = "tag:yaml.org,2002:bool"
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != _BOOL]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(_BOOL, re.compile(r"true|True|TRUE|false|False|FALSE"), list("tTfF"))


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
