"""A fake collector on loopback: it takes OTLP over HTTP and keeps the spans that it decodes."""

import gzip
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

SEEN_SECONDS_MAX = 30.0


class FakeCollector:
    """`status` is its answer to each request. Its spans are protobuf messages."""

    def __init__(self, status: int = 200) -> None:
        self.status = status
        self.spans: list[Any] = []
        self.resources: list[dict[str, str]] = []
        self.bodies: list[bytes] = []
        self._changed = threading.Condition()
        collector = self

        class Taking(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                collector.take(self.path, gzip.decompress(body))
                self.send_response(collector.status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Taking)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def take(self, path: str, body: bytes) -> None:
        assert path == "/v1/traces"
        request = ExportTraceServiceRequest.FromString(body)
        with self._changed:
            self.bodies.append(body)
            for group in request.resource_spans:
                self.resources.append(texts(group.resource.attributes))
                for scope in group.scope_spans:
                    self.spans += scope.spans
            self._changed.notify_all()

    def until(self, holds: Callable[[list[Any]], bool]) -> list[Any]:
        with self._changed:
            came = self._changed.wait_for(lambda: holds(self.spans), SEEN_SECONDS_MAX)
            assert came, f"the collector has {[span.name for span in self.spans]}"
            return list(self.spans)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def texts(attributes: Any) -> dict[str, str]:
    """The attributes of a span as texts."""
    found = {}
    for each in attributes:
        kind = each.value.WhichOneof("value")
        found[each.key] = str(getattr(each.value, kind))
    return found
