"""Where chance comes from: one xoshiro256++ generator per replication and purpose.

A stream is a row of four words, seeded by numpy's SeedSequence with the spawn key (replication,
purpose, …). So a stream depends on nothing but the seed and its own key: neither on the number
of workers nor on what other streams were used for, and two models that are run with the same
seed meet the same chance (common random numbers).
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from dovemq.models.simulation.compiled import inlined

Words = NDArray[np.uint64]

WORDS = 4
_UNIT = 2.0**-52


def seeded(seed: int, keys: Iterable[tuple[int, ...]]) -> Words:
    """One row of words for each key."""
    rows = [
        np.random.SeedSequence(seed, spawn_key=key).generate_state(WORDS, np.uint64) for key in keys
    ]
    return np.array(rows, np.uint64).reshape(len(rows), WORDS)


@inlined
def word(words: Words) -> np.uint64:
    """The next 64 bits (Blackman and Vigna, 2021)."""
    first, second, third, fourth = words[0], words[1], words[2], words[3]
    total = first + fourth
    bits: np.uint64 = ((total << np.uint64(23)) | (total >> np.uint64(41))) + first
    shifted = second << np.uint64(17)
    third ^= first
    fourth ^= second
    second ^= third
    first ^= fourth
    third ^= shifted
    fourth = (fourth << np.uint64(45)) | (fourth >> np.uint64(19))
    words[0], words[1], words[2], words[3] = first, second, third, fourth
    return bits


@inlined
def uniform(words: Words) -> float:
    """In (0, 1), both ends left out, so that its logarithm is finite and not zero."""
    return (np.float64(word(words) >> np.uint64(12)) + 0.5) * _UNIT
