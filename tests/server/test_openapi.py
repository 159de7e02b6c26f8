"""The OpenAPI document describes every route, is valid, and can be used to attack the API."""

import json
import os
import random
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator, validate

from dovemq.http import HttpRequest
from dovemq.server.admin_routes import ROUTES
from dovemq.server.answers import StreamedResponse
from tests.server.admin_world import ACCOUNT, World

DOCUMENT = "/v1/openapi.json"
CALLS = int(os.environ.get("DOVETEST_OPENAPI", "15"))
NASTY = (
    "", "x", "orders", ACCOUNT, "0", "-1", "1.1", "9" * 40, "null", "%00", "../..", "é\u202e",
    "<script>", "' OR 1=1", "a" * 3_000, "\x00", "{}", "true", "1e400", "٣",
)  # fmt: skip
PLAIN = {
    "account": ACCOUNT,
    "name": "orders",
    "place": "1",
    "move_id": "m",
    "key_id": "k",
    "type": "sales",
    "task": "t",
}
"""Values of paths that lead further into a route."""
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 2**70, 1.5, "", "x", "\x00\ud83d", [], {}, [[]], {"a": {}}, "9" * 99,
    {"": ""}, [None], "a" * 2_000,
)  # fmt: skip


async def test_document_has_every_route_with_its_role_parameters_and_body(tmp_path: Path) -> None:
    document = await World(tmp_path).get(DOCUMENT)
    validate(document, cls=OpenAPIV31SpecValidator)
    described = {
        (method.upper(), path): operation
        for path, item in document["paths"].items()
        for method, operation in item.items()
    }
    assert described.keys() == {(route.method, route.path) for route in ROUTES}
    for route in ROUTES:
        operation = described[route.method, route.path]
        given = {each["name"] for each in operation["parameters"] if each["in"] == "query"}
        assert given == set(route.query)
        assert operation.get("x-dovemq-role") == (route.role.value if route.role else None)
        assert ("requestBody" in operation) == (route.body is not None)
    names = [operation["operationId"] for operation in described.values()]
    assert len(set(names)) == len(names)


async def test_document_is_open_to_everybody(tmp_path: Path) -> None:
    world = World(tmp_path, signed=True)
    status, _ = await world.ask("GET", DOCUMENT)
    assert status == 200


@pytest.mark.parametrize("route", ROUTES, ids=lambda route: f"{route.method} {route.path}")
async def test_no_input_makes_a_route_fail(tmp_path: Path, route: Any) -> None:
    """Values that break parsers, and bodies that nearly fit their schema."""
    world = World(tmp_path)
    rng = random.Random(route.name)
    await world.done("PUT", "/v1/workflows/sales", body={"path": ["t"]})
    job = await world.done("POST", "/v1/workflows/sales/jobs", body={"input": 1})
    known = {**PLAIN, "job": job["job_id"]}
    document = await world.get(DOCUMENT)
    operation = document["paths"][route.path][route.method.lower()]
    schemas = document["components"]["schemas"]
    for _ in range(CALLS):
        if rng.random() < 0.5:
            await world.queue("orders")
        path = route.path
        for parameter in operation["parameters"]:
            if parameter["in"] == "path":
                value = quote(rng.choice(NASTY), safe="")
                path = path.replace("{" + parameter["name"] + "}", value)
        if rng.random() < 0.6:
            path = route.path.format_map(known)
        query = urlencode(
            {name: rng.choice(NASTY) for name in route.query if rng.random() < 0.5},
            errors="surrogatepass",
        )
        body = None
        if route.body is not None and rng.random() < 0.95:
            schema = schemas[route.body.__name__]
            body = _nearly(schema, schemas, rng)
        status = await _status(world, route.method, path, query, body)
        assert status < 500 or status in (501, 503), (path, query, body)


async def _status(world: World, method: str, path: str, query: str, body: Any) -> int:
    data = b"" if body is None else json.dumps(body).encode("utf-8", "surrogatepass")
    headers = {"host": "h"}
    if body is not None:
        headers["content-type"] = "application/json"
    response = await world.api.handle(HttpRequest(method, path, query, headers, data, "1.1.1.1:1"))
    if isinstance(response, StreamedResponse):
        response.close()
    return int(response.status)


def _nearly(schema: dict[str, Any], schemas: dict[str, Any], rng: random.Random) -> Any:
    """A value of the schema, with now and then one that is not."""
    if rng.random() < 0.15:
        return rng.choice(VALUES)
    if "$ref" in schema:
        return _nearly(schemas[schema["$ref"].rpartition("/")[2]], schemas, rng)
    if "anyOf" in schema:
        return _nearly(rng.choice(schema["anyOf"]), schemas, rng)
    if "enum" in schema:
        return rng.choice(schema["enum"])
    match schema.get("type"):
        case "object" if "properties" in schema:
            chosen = {
                name: each
                for name, each in schema["properties"].items()
                if name in schema.get("required", ()) or rng.random() < 0.6
            }
            return {name: _nearly(each, schemas, rng) for name, each in chosen.items()}
        case "object":
            values = schema.get("additionalProperties", {})
            some = values if isinstance(values, dict) else {}
            names = ("VisibilityTimeout", "a", rng.choice(NASTY))
            return {name: _nearly(some, schemas, rng) for name in names if rng.random() < 0.6}
        case "array":
            of = schema.get("items", {})
            return [_nearly(of, schemas, rng) for _ in range(rng.randrange(3))]
        case "integer":
            return rng.choice((0, 1, 7, 500, 2**63, -5))
        case "boolean":
            return rng.random() < 0.5
        case "null":
            return None
    return rng.choice((*NASTY, "String", "30", f"{ACCOUNT}/orders", "hello"))
