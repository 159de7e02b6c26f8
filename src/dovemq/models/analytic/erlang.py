"""Erlang's formulas: the share of arrivals that find every server busy.

    B(c, a)  where such arrivals are lost   (Erlang 1917; Cooper 1981)
    C(c, a)  where they wait                (Erlang 1917; Cooper 1981)

a is the offered load, arrival rate over service rate. B comes by its recursion over c, which adds
only positive terms: exact to rounding for every load, where factorials would overflow.
"""

import numpy as np

from dovemq.models.checks import Floats
from dovemq.models.stability import is_stable


def erlang_b(load: Floats, servers: Floats) -> Floats:
    blocked = np.ones(np.broadcast_shapes(load.shape, servers.shape))
    for count in range(1, int(servers.max(initial=0)) + 1):
        offered = load * blocked
        blocked = np.where(count <= servers, offered / (count + offered), blocked)
    return blocked


def erlang_b_rows(load: Floats, servers_max: int) -> Floats:
    """Returns rows B(c, load) for all c up to the most servers, in one pass."""
    rows = np.empty((servers_max + 1, *load.shape))
    rows[0] = 1.0
    for count in range(1, servers_max + 1):
        offered = load * rows[count - 1]
        rows[count] = offered / (count + offered)
    return rows


def erlang_c(load: Floats, servers: Floats) -> Floats:
    """Returns C; it is 1 where the load is not below the servers, since every arrival waits."""
    return c_of_b(erlang_b(load, servers), load, servers)


def c_of_b(blocked: Floats, load: Floats, servers: Floats) -> Floats:
    kept = servers - load * (1.0 - blocked)
    stable = is_stable(load, servers)
    return np.where(stable, servers * blocked / np.where(stable, kept, 1.0), 1.0)
