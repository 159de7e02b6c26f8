"""A proxy as operators set one up: it ends TLS, takes a host of its own, and says so."""

import contextlib
import http.client
import http.server
import ssl
import threading


class _Forwarder(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    inner_port: int

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = dict(self.headers.items())
        headers |= {
            "X-Forwarded-For": self.client_address[0],
            "X-Forwarded-Proto": "https",
            "X-Forwarded-Host": headers.pop("Host"),
        }
        inner = http.client.HTTPConnection("127.0.0.1", self.inner_port, timeout=30)
        with contextlib.closing(inner):
            inner.request("POST", self.path, body, headers)
            answer = inner.getresponse()
            said = answer.read()
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, format: str, *args: object) -> None:
        """Tests have enough to read."""


class TlsProxy:
    """`with TlsProxy(port, context) as proxy:` listens on `proxy.port`."""

    def __init__(self, inner_port: int, context: ssl.SSLContext) -> None:
        forwarder = type("Forwarder", (_Forwarder,), {"inner_port": inner_port})
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), forwarder)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def __enter__(self) -> "TlsProxy":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
