"""
OpenAPI 3.1, made from the route table and the types of `wire.public`.

Source: OpenAPI Specification 3.1.1; msgspec's own JSON schemas.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from standfast import __version__
from standfast.api.problems import CATALOGUE
from standfast.api.route import Param, Route

ALWAYS = ("invalid_query", "throttled", "unavailable", "store_unavailable", "store_closed")
WITH_TOKEN = ("unauthenticated", "forbidden")
_REF = "#/components/schemas/{name}"

PROBLEM_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["type", "title", "status", "code", "detail", "hint", "retry"],
    "properties": {
        "type": {"type": "string", "format": "uri"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {"type": "string", "enum": sorted(CATALOGUE)},
        "detail": {"type": "string"},
        "hint": {"type": "string"},
        "retry": {"type": "string", "enum": ["never", "same_request", "later", "after_fix"]},
        "instance": {"type": "string"},
        "request_id": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["pointer", "code", "message"],
                "properties": {name: {"type": "string"} for name in ("pointer", "code", "message")},
            },
        },
        "holder": {"type": "object"},
        "stored_digest": {"type": "string"},
        "given_digest": {"type": "string"},
    },
}


def document(routes: Sequence[Route]) -> dict[str, Any]:
    """
    The whole description as plain JSON.
    """
    named = [kind for route in routes for kind in (route.body, *(k for kinds in route.answers.values() for k in kinds))]
    types = list(dict.fromkeys(kind for kind in named if isinstance(kind, type) and issubclass(kind, msgspec.Struct)))
    _, schemas = msgspec.json.schema_components(types, ref_template=_REF)
    schemas["Problem"] = PROBLEM_SCHEMA
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Standfast",
            "version": __version__,
            "description": "Submit work once; it runs once; every claim comes with its evidence.",
        },
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(route: Route) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": _identifier(route),
        "summary": route.summary,
        "parameters": [
            *(_path_parameter(name) for name in re.findall(r"{(\w+)}", route.path)),
            *(_parameter(param, "query") for param in route.params),
            *(_parameter(param, "header") for param in route.headers),
        ],
        "responses": _responses(route),
        "security": [] if route.role is None else [{}, {"token": []}],
    }
    if route.body is not None:
        schema = {"$ref": _REF.format(name=route.body.__name__)}
        required = any(field.required for field in msgspec.structs.fields(route.body))
        content = {media: {"schema": schema} for media in ("application/json", "application/yaml")}
        operation["requestBody"] = {"required": required, "content": content}
    return operation


def _responses(route: Route) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    for status, kinds in route.answers.items():
        answer: dict[str, Any] = {"description": route.summary}
        schemas = [{"$ref": _REF.format(name=kind.__name__)} for kind in kinds if isinstance(kind, type)]
        content: dict[str, Any] = {}
        if schemas:
            content["application/json"] = {"schema": schemas[0] if len(schemas) == 1 else {"anyOf": schemas}}
        for kind in kinds:
            if isinstance(kind, str):
                content[kind] = {"schema": {"type": "object" if kind.endswith("json") else "string"}}
        if content:
            answer["content"] = content
        if route.sends:
            answer["headers"] = {
                name: {"description": meaning, "schema": {"type": "string"}} for name, meaning in route.sends.items()
            }
        responses[str(status)] = answer
    for code in codes_of(route):
        row = CATALOGUE[code]
        content = {"application/problem+json": {"schema": {"$ref": _REF.format(name="Problem")}}}
        known = responses.get(str(row.status))
        if known is None:
            responses[str(row.status)] = {"description": f"`{code}`: {row.title}.", "content": content}
        else:
            known["description"] += f" `{code}`: {row.title}."
    return responses


def codes_of(route: Route) -> tuple[str, ...]:
    """
    Every problem code that the route may answer with.
    """
    needs_token = WITH_TOKEN if route.role is not None else ()
    return tuple(dict.fromkeys((*route.codes, *ALWAYS, *needs_token)))


def _path_parameter(name: str) -> dict[str, Any]:
    return {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}


def _parameter(param: Param, place: str) -> dict[str, Any]:
    schema = {"type": "array", "items": param.schema} if param.many else dict(param.schema)
    return {"name": param.name, "in": place, "description": param.meaning, "schema": schema}


def _identifier(route: Route) -> str:
    parts = re.sub(r"[{}]", "", route.path).removeprefix("/v1").strip("/").split("/")
    return "_".join([route.method.lower(), *parts]).replace(".", "_")
