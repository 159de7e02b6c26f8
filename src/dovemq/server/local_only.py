"""Protection of a server that checks no signatures: it answers programs on this machine only.

It listens on a loopback address, but a web page in a browser on this machine can send requests
there too. Such a request names the host of the page's own site (which an attacker may point at
127.0.0.1), or the browser adds the site that it comes from.
"""

from http import HTTPStatus

from dovemq.configuration import is_loopback
from dovemq.http import HttpRequest, HttpResponse, is_host, without_port
from dovemq.server.answers import StreamedResponse, refusal
from dovemq.server.traffic import Handle


def local_only(handle: Handle) -> Handle:
    """The handler, for requests that no web page of another site has caused."""

    async def guarded(request: HttpRequest) -> HttpResponse | StreamedResponse:
        host = request.headers.get("host")
        if host is not None and not (is_host(host) and is_loopback(without_port(host).lower())):
            reason = "the Host header must name localhost or a loopback address"
        elif comes_from_another_site(request):
            reason = "requests of web pages are refused"
        else:
            return await handle(request)
        text = f"This server checks no signatures, so {reason}."
        return refusal(HTTPStatus.FORBIDDEN, text, ())

    return guarded


def comes_from_another_site(request: HttpRequest) -> bool:
    """Whether a browser says that a page of another site has sent this request."""
    headers = request.headers
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return True
    origin = headers.get("origin")
    return origin is not None and origin.partition("://")[2] != headers.get("host")
