"""The limits of a listener's clients. Times are milliseconds."""

from typing import Final

import msgspec
from msgspec import Struct

from dovemq.settings import HttpSettings

ADMIN_BODY_BYTES_MAX: Final = 4 << 20
"""The largest body that a route of the admin API takes; most take less."""


class HttpLimits(Struct, frozen=True, kw_only=True):
    """Limits of one listener. Times are exact to one `sweep_ms`, since one timer serves all."""

    url_bytes_max: int = 16 << 10
    header_bytes_max: int = 64 << 10
    header_count_max: int = 100
    body_bytes_max: int = 8 << 20
    bodies_bytes_max: int = 512 << 20
    """Bodies of all requests of a listener that are read but not answered."""
    unsent_bytes_max: int = 256 << 20
    """Answers of a listener that its clients have not taken yet."""
    connections_max: int = 10_000
    address_connections_max: int = 2_500
    pipelined_max: int = 64
    request_ms_max: int = 30_000
    idle_ms_max: int = 75_000
    write_ms_max: int = 30_000
    linger_ms_max: int = 2_000
    """Time for which a refused client is still read, so that it can see the refusal."""
    handshakes_max: int = 512
    handshake_ms_max: int = 10_000
    sweep_ms: int = 1_000

    def for_admin(self) -> "HttpLimits":
        """The limits of the admin listener."""
        return msgspec.structs.replace(
            self, body_bytes_max=min(self.body_bytes_max, ADMIN_BODY_BYTES_MAX)
        )

    @property
    def resting_max(self) -> int:
        """Connections that may rest at a time because their account must wait."""
        return self.connections_max // 4

    @classmethod
    def of(cls, settings: HttpSettings) -> "HttpLimits":
        """The limits of the same names; times are settings in seconds."""
        given = msgspec.structs.asdict(settings)
        for name in ("request", "idle", "write"):
            given[f"{name}_ms_max"] = given.pop(f"{name}_seconds_max") * 1_000
        return cls(**given)
