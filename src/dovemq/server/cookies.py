"""The session cookie of browsers, and its protection against requests of other sites.

A browser sends a cookie with whatever a page asks it to send. So a cookie counts only in a request
that the browser says comes from our own page, and a change needs a header too that other sites
cannot know: the CSRF token, which our page gets with its session.
"""

import hashlib
import hmac
from typing import Final

from dovemq.core.errors import AccessDenied
from dovemq.http import HttpRequest
from dovemq.server.local_only import comes_from_another_site

CSRF_HEADER: Final = "x-dovemq-csrf"
READING_METHODS: Final = ("GET", "HEAD")
_CSRF_CONTEXT: Final = b"dovemq csrf"
_COOKIES_MAX: Final = 100


def cookie_name(host: str, *, secure: bool) -> str:
    """The name of the cookie: cookies do not know ports, so servers of one host need several."""
    place = hashlib.sha256(host.encode()).hexdigest()[:8]
    return f"__Host-dovemq-{place}" if secure else f"dovemq-{place}"


def set_cookie(host: str, token: str, *, secure: bool) -> tuple[str, str]:
    """The header that gives the browser a session, or ends it if the token is empty."""
    name = cookie_name(host, secure=secure)
    parts = [f"{name}={token}", "Path=/", "HttpOnly", "SameSite=Strict"]
    if secure:
        parts.append("Secure")
    if not token:
        parts.append("Max-Age=0")
    return ("Set-Cookie", "; ".join(parts))


def csrf_of(token: str) -> str:
    """The CSRF token of a session: it follows from the session, and does not disclose it."""
    return hmac.new(token.encode(), _CSRF_CONTEXT, hashlib.sha256).hexdigest()


def cookie_token(request: HttpRequest) -> str | None:
    """The session token in the cookie; None if there is no cookie.

    Raises `AccessDenied` if the request may have been caused by a page of another site.
    """
    name = cookie_name(request.headers.get("host", ""), secure=request.secure)
    token = _cookie(request.headers.get("cookie", ""), name)
    if not token:
        return None
    check_same_site(request)
    if request.method not in READING_METHODS:
        given = request.headers.get(CSRF_HEADER, "")
        if not hmac.compare_digest(given.encode("latin-1"), csrf_of(token).encode()):
            raise AccessDenied("The request lacks the CSRF token of its session.")
    return token


def check_same_site(request: HttpRequest) -> None:
    if comes_from_another_site(request):
        raise AccessDenied("Requests of pages of other sites are refused.")


def _cookie(header: str, name: str) -> str:
    for part in header.split(";", _COOKIES_MAX):
        key, _, value = part.strip().partition("=")
        if key == name:
            return value
    return ""
