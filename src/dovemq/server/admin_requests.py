"""Reads paths, queries and bodies of the admin API; unknown parameters are refused."""

from http import HTTPStatus
from typing import Any, Final
from urllib.parse import parse_qsl, unquote

import msgspec

from dovemq.http import HttpRequest
from dovemq.server.admin_context import AdminRefusal, AdminRoute
from dovemq.server.admin_views import JSON

PARAMETERS_MAX: Final = 16


def path_parts(template: str, path: str) -> dict[str, str] | None:
    """The variable parts of a path, or None if the path does not match the template."""
    wanted, given = template.split("/"), path.split("/")
    if len(wanted) != len(given):
        return None
    found = {}
    for want, part in zip(wanted, given, strict=True):
        if want.startswith("{"):
            found[want.strip("{}")] = unquote(part, errors="replace")
        elif want != part:
            return None
    return found


def read_query(route: AdminRoute, text: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=PARAMETERS_MAX)
    except ValueError:
        text = f"There are more than {PARAMETERS_MAX} parameters."
        raise AdminRefusal("InvalidQuery", text) from None
    # A presigned URL carries its signature as parameters.
    query = {name: value for name, value in pairs if not name.startswith("X-Amz-")}
    unknown = [name for name in query if name not in route.query]
    if unknown:
        known = ", ".join(route.query) or "none"
        raise AdminRefusal("UnknownParameter", f"Known parameters here: {known}.")
    return query


def read_body(route: AdminRoute, request: HttpRequest) -> Any:
    if route.body is None:
        if request.body:
            raise AdminRefusal("InvalidBody", "This route takes no body.")
        return None
    if len(request.body) > route.body_bytes_max:
        text = f"A body here has at most {route.body_bytes_max} bytes."
        raise AdminRefusal("BodyTooLong", text, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    # Browsers send other content types for any web page without a preflight request.
    if kind != JSON:
        text = f"The content type must be {JSON}."
        raise AdminRefusal("UnsupportedMediaType", text, HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
    try:
        return msgspec.json.decode(request.body, type=route.body)
    except msgspec.ValidationError as error:
        raise AdminRefusal("InvalidBody", f"{error}.") from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise AdminRefusal("InvalidBody", "The body is not JSON.") from None


def recorded_fields(route: AdminRoute, body: Any) -> dict[str, Any]:
    """The fields of the body, without those that must not be recorded."""
    given: dict[str, Any] = {} if body is None else msgspec.to_builtins(body)
    return {name: value for name, value in given.items() if name not in route.unrecorded}
