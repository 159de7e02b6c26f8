"""The OpenAPI document of the admin API, made from the routes themselves."""

import re
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import Any, Final

import msgspec

from dovemq.core import limits
from dovemq.server.admin_context import AdminRoute

VERSION: Final = "3.1.0"
API_VERSION: Final = "1"
_REFS: Final = "#/components/schemas/{name}"
_TEXT: Final = {"type": "string"}
_PARAMETERS: Final[dict[str, tuple[dict[str, Any], str]]] = {
    "account": (_TEXT, "Number of an account, or its name where the path begins with accounts."),
    "action": (_TEXT, "Operation of SQS, such as SendMessage."),
    "address": (_TEXT, "Address of the client."),
    "after": (_TEXT, "The `next` of the page before."),
    "arrival_rate": (
        {"type": "number", "minimum": 0.001, "maximum": 1_000_000},
        "Messages that arrive per second.",
    ),
    "consumers": (
        {"type": "integer", "minimum": 1, "maximum": 1_000},
        "Consumers that receive at the same time.",
    ),
    "contains": (_TEXT, "Text that must occur."),
    "job": (_TEXT, "Id of a job."),
    "key_id": (_TEXT, "Id of an access key."),
    "limit": ({"type": "integer", "minimum": 1, "maximum": 1_000}, "Items of the page."),
    "move_id": (_TEXT, "Id of a move task."),
    "name": (_TEXT, "Name of a queue."),
    "offset": ({"type": "integer", "minimum": 0, "maximum": 1_000_000}, "Rows to leave out."),
    "order": ({"type": "string", "enum": ["up", "down"]}, "Direction of the sort."),
    "partitions": (
        {"type": "integer", "minimum": 1, "maximum": 100},
        "Partitions that divide the consumers; with 1 every consumer serves all.",
    ),
    "percentile": (
        {"type": "number", "minimum": 50, "maximum": 99.9},
        "Percentage of the messages that a time covers.",
    ),
    "place": (
        {"type": "string", "pattern": r"^\d+(\.\d+)?$"},
        "SEQUENCE of a message, or SEQUENCE.PARTITION.",
    ),
    "prefix": (_TEXT, "Start of the name."),
    "queue": (_TEXT, "ACCOUNT/NAME of a queue."),
    "secure": ({"type": "string", "enum": ["true", "false"]}, "Whether the client uses TLS."),
    "sort": (_TEXT, "Column of the sort."),
    "state": (_TEXT, "State of the jobs."),
    "target_ms": (
        {"type": "integer", "minimum": 1, "maximum": 7 * limits.DAY_MS},
        "Time within which that percentage of the responses should be.",
    ),
    "task": (_TEXT, "Name of a task."),
    "type": (_TEXT, "Type of a workflow."),
    "user_agent": (_TEXT, "User-Agent header of the client."),
    "version": (_TEXT, "Version of a workflow; the newest if there is none."),
    "visibility": (
        {"type": "string", "enum": ["visible", "leased", "delayed"]},
        "State of the messages.",
    ),
    "window": (
        {
            "type": "integer",
            "minimum": limits.PEEK_COUNT.least,
            "maximum": limits.PEEK_COUNT.most,
        },
        "Messages that a search looks at.",
    ),
}
_ERROR: Final = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {"code": _TEXT, "message": _TEXT},
        }
    },
}
_SCHEMES: Final = {
    "accessKey": {"type": "http", "scheme": "basic", "description": "Access key id and secret."},
    "session": {"type": "http", "scheme": "bearer", "description": "Token of a login."},
    "signature": {
        "type": "apiKey",
        "in": "header",
        "name": "Authorization",
        "description": "AWS Signature Version 4 with the service name dovemq.",
    },
}
_PLAIN: Final = {"/": "text/plain", "/metrics": "text/plain"}
_COPIED: Final = "/v1/backups"
_VARIABLE: Final = re.compile(r"\{(\w+)\}")


def openapi_document(routes: Sequence[AdminRoute]) -> dict[str, Any]:
    bodies = [route.body for route in routes if route.body is not None]
    _, schemas = msgspec.json.schema_components(bodies, ref_template=_REFS)
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(route.path, {})[route.method.lower()] = _operation(route)
    return {
        "openapi": VERSION,
        "info": {
            "title": "DoveMQ admin API",
            "version": API_VERSION,
            "summary": "Queues, messages, accounts and the state of a DoveMQ server.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{name: []} for name in _SCHEMES],
        "paths": paths,
        "components": {
            "schemas": {**schemas, "Error": _ERROR},
            "securitySchemes": _SCHEMES,
            "responses": {
                "Refused": {
                    "description": "The request is refused, or cannot be done now.",
                    "content": _json({"$ref": _REFS.format(name="Error")}),
                }
            },
        },
    }


def _operation(route: AdminRoute) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.name.replace(" ", "_"),
        "summary": route.summary.partition(". ")[0].rstrip("."),
        "description": route.summary,
        "parameters": [*_parameters(route)],
        "responses": {
            str(HTTPStatus.OK.value): {"description": "Done.", "content": _answer(route)},
            "default": {"$ref": "#/components/responses/Refused"},
        },
    }
    if route.role is not None:
        operation["x-dovemq-role"] = route.role.value
        operation["x-dovemq-own"] = route.own
    if not route.signed:
        operation["security"] = []
    if route.body is not None:
        schema = {"$ref": _REFS.format(name=route.body.__name__)}
        operation["requestBody"] = {"required": True, "content": _json(schema)}
    return operation


def _parameters(route: AdminRoute) -> Iterable[dict[str, Any]]:
    for name in _VARIABLE.findall(route.path):
        yield {**_parameter(name, "path"), "required": True}
    for name in route.query:
        yield _parameter(name, "query")


def _parameter(name: str, place: str) -> dict[str, Any]:
    schema, text = _PARAMETERS[name]
    return {"name": name, "in": place, "description": text, "schema": schema}


def _answer(route: AdminRoute) -> dict[str, Any]:
    if route.path in _PLAIN:
        return {_PLAIN[route.path]: {"schema": _TEXT}}
    if route.path == _COPIED:
        return {"application/octet-stream": {}}
    return _json({"type": "object"})


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
