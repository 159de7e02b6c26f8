"""The answer to a store whose driver is an extra that is not installed."""

from dovemq.settings import SettingInvalid
from dovemq.system.extras import extra_missing


def driver_missing(extra: str, error: ModuleNotFoundError) -> SettingInvalid:
    return SettingInvalid("store", f"{error.name} is not installed", extra_missing(extra))
