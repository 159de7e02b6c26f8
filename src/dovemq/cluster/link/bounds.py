"""The bounds and times of the link between front ends, all in one place."""

from typing import Final

PROTOCOL: Final = 1
"""Version of the protocol. It changes when an older front end could misread a frame."""

GREETING_BYTES_MAX: Final = 4 << 10
"""Size of a frame before both sides have proved themselves."""
FRAME_BYTES_MAX: Final = 64 << 20
"""Size of a frame. The largest answer to a receive of the wire, ten messages, takes 11 MiB."""
FRAME_BYTES_AIM: Final = 256 << 10
"""Size at which a frame is closed, although more messages of the same turn could join it."""
MESSAGE_BYTES_MAX: Final = FRAME_BYTES_MAX - 2 * FRAME_BYTES_AIM
"""Size of a message in a frame. An answer that is longer is shortened."""
UNSENT_BYTES_MAX: Final = 64 << 20
"""Bytes that wait because the other side does not read. Above it, verbs get `Busy`."""
UNSENT_BYTES_PAUSE: Final = 4 << 20
"""Unsent answers at which the owner stops to read verbs of this connection."""
SERVED_BYTES_MAX: Final = 64 << 20
"""Bytes of the verbs of one connection that are under way, above which the owner stops to read."""
ITEMS_MAX: Final = 50
"""Messages of one verb; a longer list is divided. So many of the largest messages fit a frame."""
VERBS_IN_FLIGHT_MAX: Final = 8_192
"""Verbs of one connection without an answer. Above it, verbs get `Busy`."""
WATCHES_MAX: Final = 1_000_000
"""Partitions that one connection may watch."""

CONNECT_SECONDS_MAX: Final = 3.0
GREETING_SECONDS_MAX: Final = 3.0
VERB_SECONDS_MAX: Final = 30
"""Time after which a verb without an answer fails. It is longer than a commit of a shared database
may take, since the owner's own error says more than this one."""

TICK_SECONDS: Final = 1.0
"""Time between two checks of a connection. A side that wrote nothing in that time sends a ping."""
SILENT_TICKS_MAX: Final = 4
"""Ticks without a byte from the other side, after which it is taken for dead. Ticks are counted and
not seconds, so that a process that was paused itself does not blame the other side."""
FRAME_TICKS_MAX: Final = 30
"""Ticks from the first byte of a frame to its last. Without it, one damaged byte of a length could
stop a connection for ever: what follows would seem to be a part of that frame."""
STALLED_TICKS_MAX: Final = 15
"""Ticks during which the other side takes no byte of those that wait for it."""

RETRY_SECONDS_MIN: Final = 0.05
RETRY_SECONDS_MAX: Final = 2.0
"""Wait before the next attempt to connect; it doubles from the first to the second."""
RETRY_DOUBLINGS_MAX: Final = 16
STEADY_SECONDS: Final = 1.0
"""Age of a connection after which its loss is answered by dialling at once."""
REFUSAL_SECONDS_MAX: Final = 2.0
"""Time that a front end which joins waits for another to say whether it refuses this one."""
REFUSED_SECONDS: Final = 10.0
"""Wait after a refusal, which only an operator can change."""
JITTER_SHARE: Final = 0.5
"""Share of a wait that is drawn at random, so that front ends do not dial in step."""

LINKS_MAX: Final = 1_024
"""Addresses that a front end has a link to."""
GREETINGS_MAX: Final = 64
"""Accepted connections that have not proved themselves. A new one replaces the oldest."""
CONNECTIONS_MAX: Final = 1_024
"""Accepted connections of a front end."""
FAILURES_MAX: Final = 20
FAILURE_SECONDS: Final = 10.0
"""Failed greetings of an address within this time, after which it is not listened to."""
ADDRESSES_MAX: Final = 1_024
"""Addresses whose failures are remembered."""

DRAIN_SECONDS_MAX: Final = 10.0
"""Time for verbs that have arrived to be answered when a front end stops."""

SECRET_BYTES_MIN: Final = 16
FAILURE_TEXT_MAX: Final = 2_048
"""Letters of an error's text or field that travel."""
REASON_LENGTH_MAX: Final = 300
