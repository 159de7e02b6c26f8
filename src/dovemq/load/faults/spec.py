"""The faults of a run, their frequency and duration, as a TOML file gives them.

Probabilities are per exchange (network) or per receive (client). Faults of the server happen over
time: the time to the next one is exponential, its duration is fixed.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from dovemq.core.errors import DoveError

CLOCK_MS_MAX: Final = 600_000
"""Signatures are refused if the clocks of client and server differ by 15 minutes."""

Chance = Annotated[float, Meta(ge=0, le=1)]
MeanSeconds = Annotated[float, Meta(ge=0)]
"""Zero is never."""
Span = Annotated[int, Meta(ge=0, le=600_000)]
Offset = Annotated[int, Meta(ge=0, le=CLOCK_MS_MAX)]


class FaultSpecInvalid(DoveError):
    def __init__(self, place: str, found: str) -> None:
        super().__init__(f"{place}: {found}; docs/how-to/faults.md lists the settings")


class _Table(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A table of the file."""


class NetworkFaults(_Table, frozen=True):
    """Faults of the network. A dropped request or answer also closes its connection."""

    drop_request: Chance = 0.0
    drop_response: Chance = 0.0
    cut: Chance = 0.0
    delay: Chance = 0.0
    delay_ms: Span = 200

    @property
    def total(self) -> float:
        return self.drop_request + self.drop_response + self.cut + self.delay


class ClientFaults(_Table, frozen=True):
    """`quit`: a receiver stops with its received messages, and starts again."""

    quit: Chance = 0.0


class ServerFaults(_Table, frozen=True):
    kill_mttf_seconds: MeanSeconds = 0.0
    kill_mttr_ms: Span = 1_000
    pause_mttf_seconds: MeanSeconds = 0.0
    pause_ms: Span = 1_000


class DiskFaults(_Table, frozen=True):
    """`power_cut`: a kill also loses what was written and not synced.

    Failing syncs are followed by a power cut, because a server must not be restarted on data that
    only the system's memory has. `sync_lies`: syncs do nothing and report success; no service can
    survive that. A flip changes one bit of a file while the server is down.
    """

    power_cut: bool = False
    fail_sync_mttf_seconds: MeanSeconds = 0.0
    fail_sync_ms: Span = 500
    full_mttf_seconds: MeanSeconds = 0.0
    full_ms: Span = 2_000
    flip_mttf_seconds: MeanSeconds = 0.0
    sync_lies: bool = False


class ClockFaults(_Table, frozen=True):
    """Offsets are uniform within ± the bound: `skew_ms` from each start on, `jump_ms` at a jump."""

    skew_ms: Offset = 0
    jump_mttf_seconds: MeanSeconds = 0.0
    jump_ms: Offset = 5_000


class FaultSpec(_Table, frozen=True):
    network: NetworkFaults = NetworkFaults()
    client: ClientFaults = ClientFaults()
    server: ServerFaults = ServerFaults()
    disk: DiskFaults = DiskFaults()
    clock: ClockFaults = ClockFaults()

    @property
    def needs_disk(self) -> bool:
        disk = self.disk
        return disk.power_cut or bool(disk.fail_sync_mttf_seconds or disk.full_mttf_seconds)

    @property
    def needs_clock(self) -> bool:
        return bool(self.clock.skew_ms or self.clock.jump_mttf_seconds)

    @property
    def needs_server(self) -> bool:
        """Only a server that we started can be killed, paused, or given another disk or clock."""
        server = self.server
        return bool(
            server.kill_mttf_seconds
            or server.pause_mttf_seconds
            or self.disk.flip_mttf_seconds
            or self.needs_disk
            or self.needs_clock
        )

    @property
    def clock_ms_max(self) -> int:
        """Returns the largest difference between two clocks of the run, or of one clock at two
        times."""
        jump_ms = self.clock.jump_ms if self.clock.jump_mttf_seconds else 0
        return 2 * max(self.clock.skew_ms, jump_ms)

    @property
    def downtime_ms_max(self) -> int:
        """Returns how long the server may be down, or refuse messages, at a time."""
        server, disk = self.server, self.disk
        return max(server.kill_mttr_ms, server.pause_ms, disk.fail_sync_ms, disk.full_ms)


def parse_spec(document: Mapping[str, Any], place: str) -> FaultSpec:
    try:
        spec = msgspec.convert(document, FaultSpec)
    except msgspec.ValidationError as error:
        raise FaultSpecInvalid(place, str(error)) from None
    if spec.network.total > 1:
        raise FaultSpecInvalid(place, "the chances of [network] add up to more than 1")
    if spec.disk.power_cut and not spec.server.kill_mttf_seconds:
        raise FaultSpecInvalid(place, "power_cut needs kills: set kill_mttf_seconds in [server]")
    return spec
