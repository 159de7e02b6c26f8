"""Signature Version 4: verifies requests, signed in a header or presigned, and signs them.

The hash of the body is always computed, so that a wrong declared hash or `UNSIGNED-PAYLOAD` does
not match. A session token is signed as part of the request and has no other meaning, because the
service issues no temporary keys.
"""

import email.utils
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final
from urllib.parse import unquote

from msgspec import Struct

from dovemq.core import errors
from dovemq.core.access import AccessKey, Keyring
from dovemq.core.bounded import BoundedDict
from dovemq.http import HttpRequest
from dovemq.sqs.canonical import (
    ALGORITHM,
    TERMINATOR,
    SignedHeaders,
    SigningKey,
    canonical_query,
    canonical_request,
    canonical_top,
    date_ms,
    date_text,
)

SKEW_MS_MAX: Final = 15 * 60 * 1_000
EXPIRES_SECONDS_MAX: Final = 7 * 24 * 3_600

_MISMATCH: Final = (
    "The request signature we calculated does not match the signature you provided. Check your "
    "AWS Secret Access Key and signing method. Consult the service documentation for details."
)
_PRESIGNED: Final = ("Algorithm", "Credential", "Date", "Expires", "SignedHeaders", "Signature")


class Claim(Struct, frozen=True):
    """The claims of a signature: all its parts except the date and the value."""

    key_id: str
    scope: str
    headers: SignedHeaders
    target_signed: bool


class Verifier:
    """Finds the access key that signed a request, or raises an error that says why none did."""

    def __init__(self, keyring: Keyring, *, region: str, service: str = "sqs") -> None:
        self._keyring = keyring
        self._region = region
        self._service = service
        self._claims: BoundedDict[str, Claim] = BoundedDict()
        self._signing_keys: BoundedDict[tuple[str, str], SigningKey] = BoundedDict()
        self._times: BoundedDict[str, int] = BoundedDict()

    def verify(self, request: HttpRequest, now_ms: int) -> AccessKey:
        authorization = request.headers.get("authorization")
        if authorization is not None:
            key = self._verify_header(request, authorization, now_ms)
        elif "X-Amz-Signature=" in request.query or "X-Amz-Credential=" in request.query:
            key = self._verify_presigned(request, now_ms)
        else:
            raise errors.SignatureMissing("Request is missing Authentication Token")
        if key.expires_ms is not None and key.expires_ms <= now_ms:
            # Only a client that has the secret learns this.
            raise errors.AccessKeyExpired("The security token included in the request is expired")
        return key

    def check_head(self, head: HttpRequest) -> None:
        """Raise if the signature is invalid whatever the body is: by its form, scope or key."""
        authorization = head.headers.get("authorization")
        if authorization is not None:
            prefix = authorization.rpartition("Signature=")[0]
            claim = self._claims.get(prefix) or self._read_authorization(authorization)[0]
        elif "X-Amz-Signature=" in head.query:
            values = _presigned_values(head.query)
            claim = self._read_claim(values["Credential"], values["SignedHeaders"])
        else:
            raise errors.SignatureMissing("Request is missing Authentication Token")
        self._enabled_key(claim.key_id)

    def _verify_header(self, request: HttpRequest, authorization: str, now_ms: int) -> AccessKey:
        # A client sends the same header each time, except for the signature: it is read once.
        prefix, _, given = authorization.rpartition("Signature=")
        known = self._claims.get(prefix)
        claim = known
        if claim is None:
            claim, given = self._read_authorization(authorization)
        headers = request.headers
        date = headers.get("x-amz-date") or _date_of(headers.get("date", ""))
        signed_ms = self._signed_ms(date, claim)
        if not -SKEW_MS_MAX <= now_ms - signed_ms <= SKEW_MS_MAX:
            raise errors.SignatureExpired(_skew_text(date, signed_ms, now_ms))
        query = canonical_query(request.query) if request.query else ""
        key = self._check(request, claim, date, query, given)
        if known is None and authorization.endswith("Signature=" + given):
            # Only now: invalid requests must neither fill the cache nor push others out.
            self._claims.keep(prefix, claim)
        return key

    def _verify_presigned(self, request: HttpRequest, now_ms: int) -> AccessKey:
        values = _presigned_values(request.query)
        if values["Algorithm"] != ALGORITHM:
            raise errors.SignatureIncomplete(_algorithm_text(values["Algorithm"]))
        claim = self._read_claim(values["Credential"], values["SignedHeaders"])
        date = values["Date"]
        signed_ms = self._signed_ms(date, claim)
        end_ms = signed_ms + _expires_ms(values["Expires"])
        if now_ms > end_ms:
            raise errors.SignatureExpired(
                f"Signature expired: {date_text(end_ms)} is now earlier than {date_text(now_ms)}"
            )
        if signed_ms > now_ms + SKEW_MS_MAX:
            raise errors.SignatureExpired(_skew_text(date, signed_ms, now_ms))
        query = canonical_query(request.query, omit="X-Amz-Signature")
        return self._check(request, claim, date, query, values["Signature"])

    def _check(
        self, request: HttpRequest, claim: Claim, date: str, query: str, given: str
    ) -> AccessKey:
        # The target names the operation: if it were not signed, anybody could replace it.
        if not claim.target_signed and "x-amz-target" in request.headers:
            raise errors.SignatureMismatch(_unsigned_text("X-Amz-Target"))
        key = self._enabled_key(claim.key_id)
        canonical = canonical_request(
            request.method, request.path, query, request.headers, claim.headers, request.body
        )
        # The cache goes by secret: a key id whose secret has changed must not find the old one.
        place = (key.secret, claim.scope)
        signing_key = self._signing_keys.get(place)
        if signing_key is None:
            signing_key = self._signing_keys.keep(place, SigningKey(key.secret, claim.scope))
        expected = signing_key.signature(date, canonical)
        if not (given.isascii() and hmac.compare_digest(expected, given)):
            raise errors.SignatureMismatch(_MISMATCH)
        return key

    def _enabled_key(self, key_id: str) -> AccessKey:
        key = self._keyring.find(key_id)
        if key is None or not key.enabled:
            raise errors.AccessKeyUnknown("The security token included in the request is invalid.")
        return key

    def _signed_ms(self, date: str, claim: Claim) -> int:
        signed_ms = self._times.get(date)
        if signed_ms is None:
            signed_ms = date_ms(date)
            if signed_ms is None:
                raise errors.SignatureIncomplete(
                    "Date must be in ISO-8601 'basic format'. "
                    f"Got '{date[:64]}'. See http://en.wikipedia.org/wiki/ISO_8601"
                )
            self._times.keep(date, signed_ms)
        if not claim.scope.startswith(date[:8] + "/"):
            raise errors.SignatureMismatch(
                "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date "
                f"from HTTP: '{claim.scope[:8]}' != '{date[:8]}', from '{date}'."
            )
        return signed_ms

    def _read_authorization(self, authorization: str) -> tuple[Claim, str]:
        kind, _, rest = authorization.partition(" ")
        if kind != ALGORITHM:
            raise errors.SignatureIncomplete(_algorithm_text(kind))
        fields: dict[str, str] = {}
        for part in rest.split(","):
            name, _, value = part.strip().partition("=")
            fields[name] = value
        missing = [n for n in ("Credential", "Signature", "SignedHeaders") if not fields.get(n)]
        if missing:
            raise errors.SignatureIncomplete(
                " ".join(f"Authorization header requires '{name}' parameter." for name in missing)
            )
        return self._read_claim(fields["Credential"], fields["SignedHeaders"]), fields["Signature"]

    def _read_claim(self, credential: str, signed_headers: str) -> Claim:
        key_id, _, scope = credential.partition("/")
        parts = scope.split("/")
        if len(parts) != 4:
            raise errors.SignatureIncomplete(
                "Credential must have exactly 5 slash-delimited elements, "
                f"e.g. keyid/date/region/service/term, got '{credential[:128]}'"
            )
        _, region, service, terminator = parts
        if region != self._region:
            raise errors.SignatureMismatch(
                f"Credential should be scoped to a valid region, not '{region[:64]}'."
            )
        if service != self._service:
            raise errors.SignatureMismatch(
                f"Credential should be scoped to correct service: '{self._service}'."
            )
        if terminator != TERMINATOR:
            raise errors.SignatureMismatch(
                f"Credential should be scoped with a valid terminator: '{TERMINATOR}'."
            )
        headers = SignedHeaders(signed_headers.split(";"))
        if "host" not in headers:
            raise errors.SignatureMismatch(_unsigned_text("Host"))
        return Claim(key_id, scope, headers, "x-amz-target" in headers)


class Signer:
    """Signs requests in a header. It signs `host`, the date and all other given headers."""

    def __init__(self, key: AccessKey, *, region: str, service: str = "sqs") -> None:
        self._key = key
        self._tail = f"/{region}/{service}/{TERMINATOR}"
        self._keys: BoundedDict[str, SigningKey] = BoundedDict()

    def sign(
        self,
        method: str,
        path: str,
        query: str,
        headers: Mapping[str, str],
        body: bytes,
        now_ms: int,
    ) -> dict[str, str]:
        """The given headers, which include `host`, with the date and the authorization added.

        Names must be lower-case; `path` and `query` must be encoded.
        """
        date, authorization = self.form(method, path, query, headers).signed(body, now_ms)
        return {**headers, "x-amz-date": date, "authorization": authorization}

    def form(
        self, method: str, path: str, query: str, headers: Mapping[str, str]
    ) -> "SignatureForm":
        """A form for requests that differ only in their bodies."""
        top = canonical_top(method, path, canonical_query(query) if query else "")
        return SignatureForm(self, top, headers)

    def claimed(self, date: str) -> tuple[SigningKey, str]:
        """The signing key of that day, and its credential."""
        scope = date[:8] + self._tail
        key = self._keys.get(scope) or self._keys.keep(scope, SigningKey(self._key.secret, scope))
        return key, f"{self._key.key_id}/{scope}"


@dataclass(slots=True)
class SignatureForm:
    """Signs requests that differ only in their bodies; the shared part is made once a second."""

    _signer: Signer
    _top: str
    _headers: Mapping[str, str]
    _second: int = -1
    _date: str = ""
    _canonical: bytes = b""
    _beginning: str = ""
    _key: SigningKey = field(init=False)

    def signed(self, body: bytes, now_ms: int) -> tuple[str, str]:
        """The headers `x-amz-date` and `authorization`."""
        if now_ms // 1_000 != self._second:
            self._renew(now_ms)
        canonical = self._canonical + sha256(body).hexdigest().encode()
        return self._date, self._beginning + self._key.signature(self._date, canonical)

    def _renew(self, now_ms: int) -> None:
        self._second = now_ms // 1_000
        self._date = date_text(now_ms)
        dated = {**self._headers, "x-amz-date": self._date}
        signed = SignedHeaders(sorted(dated))
        self._key, credential = self._signer.claimed(self._date)
        self._canonical = f"{self._top}{signed.canonical(dated)}\n".encode("latin-1", "replace")
        self._beginning = (
            f"{ALGORITHM} Credential={credential}, SignedHeaders={signed.text}, Signature="
        )


def _presigned_values(query: str) -> dict[str, str]:
    values: dict[str, str] = {}
    for part in query.split("&"):
        name, _, value = part.partition("=")
        if name.startswith("X-Amz-"):
            values[name.removeprefix("X-Amz-")] = unquote(value, "latin-1")
    for name in _PRESIGNED:
        if not values.get(name):
            raise errors.SignatureIncomplete(
                f"AWS query-string parameters must include 'X-Amz-{name}'."
            )
    return values


def _expires_ms(text: str) -> int:
    seconds = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    if not 1 <= seconds <= EXPIRES_SECONDS_MAX:
        raise errors.SignatureIncomplete(
            f"X-Amz-Expires must be a number of seconds from 1 to {EXPIRES_SECONDS_MAX}."
        )
    return seconds * 1_000


def _date_of(http_date: str) -> str:
    """The `Date` header in the form of `X-Amz-Date`."""
    if not http_date:
        raise errors.SignatureIncomplete(
            "Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header."
        )
    if date_ms(http_date) is not None:
        return http_date
    try:
        moment = email.utils.parsedate_to_datetime(http_date)
        return date_text(round(moment.timestamp() * 1_000))
    except (TypeError, ValueError, OverflowError, IndexError):
        return http_date


def _skew_text(date: str, signed_ms: int, now_ms: int) -> str:
    now = date_text(now_ms)
    if signed_ms < now_ms:
        least = date_text(now_ms - SKEW_MS_MAX)
        return f"Signature expired: {date} is now earlier than {least} ({now} - 15 min.)"
    most = date_text(now_ms + SKEW_MS_MAX)
    return f"Signature not yet current: {date} is still later than {most} ({now} + 15 min.)"


def _algorithm_text(kind: str) -> str:
    return f"Unsupported AWS 'algorithm': '{kind[:64]}'."


def _unsigned_text(name: str) -> str:
    return f"'{name}' must be a 'SignedHeader' in the AWS Authorization."
