"""The start of the export of spans, if the settings ask for it and the extra is installed."""

from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from dovemq.settings import SettingInvalid, Settings
from dovemq.system.extras import extra_missing

if TYPE_CHECKING:
    from dovemq.telemetry.span_export import SpanExport


def open_span_export(
    settings: Settings, front_end: str, now_ns: Callable[[], int]
) -> "SpanExport | None":
    """`now_ns` is the time since 1970 in nanoseconds, and never goes back."""
    if settings.otel_endpoint is None:
        return None
    try:
        # Only here: the base install has no OpenTelemetry.
        from dovemq.telemetry.span_export import SpanExport
    except ImportError as error:
        found = f"{error.name or 'opentelemetry'} is not installed"
        raise SettingInvalid("otel_endpoint", found, extra_missing("otel")) from None
    endpoint = traces_url(settings.otel_endpoint)
    return SpanExport(endpoint, settings.otel_sampled_percent, now_ns, front_end)


def traces_url(endpoint: str) -> str:
    """The URL for traces of a collector, whose path may be given or left out."""
    remedy = "give the URL of a collector, such as http://127.0.0.1:4318"
    try:
        parts = urlsplit(endpoint)
        valid = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise SettingInvalid("otel_endpoint", "it is no http or https URL", remedy)
    if parts.username or parts.password:
        remedy = "put the key of the collector into OTEL_EXPORTER_OTLP_HEADERS"
        raise SettingInvalid("otel_endpoint", "it holds a password", remedy)
    return endpoint if parts.path.strip("/") else f"{endpoint.rstrip('/')}/v1/traces"
