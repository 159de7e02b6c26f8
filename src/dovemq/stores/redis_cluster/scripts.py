"""The scripts that run in the servers, from `scripts/*.lua`."""

import hashlib
from importlib.resources import files
from typing import Final, Self

from msgspec import Struct

_FULL_MEMORY_TOO: Final = "#!lua flags=allow-oom\n"


class LuaScript(Struct, frozen=True):
    """A script, and the digest by which servers that have it know it."""

    text: bytes
    digest: bytes

    @classmethod
    def of(cls, text: str) -> Self:
        encoded = text.encode()
        return cls(encoded, hashlib.sha1(encoded, usedforsecurity=False).hexdigest().encode())


class RedisScripts(Struct, frozen=True):
    """`append` grows a log; `append_freeing` is the same for a group that frees space."""

    append: LuaScript
    append_freeing: LuaScript
    open_log: LuaScript
    remove_log: LuaScript
    set_bookmark: LuaScript
    put_record: LuaScript
    remove_record: LuaScript
    put_entry: LuaScript
    remove_entry: LuaScript
    page_entries: LuaScript
    due_entries: LuaScript


def load_scripts() -> RedisScripts:
    folder = files(__package__) / "scripts"
    texts = {
        name: (folder / f"{name}.lua").read_text("utf-8")
        for name in RedisScripts.__struct_fields__
        if name != "append_freeing"
    }
    texts["append_freeing"] = _FULL_MEMORY_TOO + texts["append"]
    return RedisScripts(**{name: LuaScript.of(text) for name, text in texts.items()})
