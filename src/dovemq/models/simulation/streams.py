"""Random numbers: one xoshiro256++ generator per replication and purpose.

A stream is a row of four words, seeded by numpy's SeedSequence with the spawn key (replication,
purpose, …). So a stream depends only on the seed and its own key, neither on the number of workers
nor on the use of other streams, and two models that run with the same seed get the same random
numbers.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from dovemq.models.simulation.compiled import inlined

Words = NDArray[np.uint64]

WORDS = 4
_UNIT = 2.0**-52


def seeded(seed: int, keys: Iterable[tuple[int, ...]]) -> Words:
    """Returns one row of words for each key."""
    rows = [
        np.random.SeedSequence(seed, spawn_key=key).generate_state(WORDS, np.uint64) for key in keys
    ]
    return np.array(rows, np.uint64).reshape(len(rows), WORDS)


@inlined
def word(words: Words) -> np.uint64:
    """Returns the next 64 bits (Blackman and Vigna, 2021)."""
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
    """Returns a number in (0, 1) without both ends, so that its logarithm is finite and not 0."""
    return (np.float64(word(words) >> np.uint64(12)) + 0.5) * _UNIT
