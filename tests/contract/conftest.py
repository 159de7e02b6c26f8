"""Runs each sentence of the contract against every store."""

import random
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from dovemq.core.observing import Observer
from dovemq.core.ports import Store
from dovemq.stores.memory import MemoryStore
from dovemq.stores.sqlite import open_store
from dovemq.testing.clock import ManualClock
from tests.contract.world import StoreOpener, World

CACHE_BYTES_MAX = 4_096
"""Small, so that the sentences read bodies from the cache and from the disk."""


def _memory(_: Path) -> StoreOpener:
    async def opened(clock: ManualClock, rng: random.Random, observer: Observer) -> Store:
        return MemoryStore(rng, b"receipt key of the contract", observer)

    return opened


def _sqlite(directory: Path) -> StoreOpener:
    async def opened(clock: ManualClock, rng: random.Random, observer: Observer) -> Store:
        return await open_store(
            directory, rng=rng, cache_bytes_max=CACHE_BYTES_MAX, clock=clock, observer=observer
        )

    return opened


STORES: dict[str, Callable[[Path], StoreOpener]] = {"memory": _memory, "sqlite": _sqlite}
DURABLE_STORES = ("sqlite",)


@pytest.fixture(params=STORES)
async def world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    async with World(STORES[request.param](tmp_path / "data")) as opened:
        yield opened


@pytest.fixture(params=DURABLE_STORES)
async def durable_world(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    async with World(STORES[request.param](tmp_path / "data")) as opened:
        yield opened
