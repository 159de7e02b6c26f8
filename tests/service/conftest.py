import pytest

from tests.service.account_world import AccountWorld


@pytest.fixture
def world() -> AccountWorld:
    return AccountWorld()
