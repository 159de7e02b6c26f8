"""The root account's key file: made once, private, and refused when it is not."""

import os
import re
import stat
from pathlib import Path

import pytest

from dovemq.core.errors import StoreUnusable
from dovemq.system.key_file import KEY_FILE, ensure_key, key_path, read_key

ACCOUNT = "000000000000"


def test_first_start_makes_a_key_that_only_its_owner_can_read(tmp_path: Path) -> None:
    path = ensure_key(tmp_path / "a" / "data")
    assert path == key_path(tmp_path / "a" / "data")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert [each.name for each in path.parent.iterdir()] == ["root-key.json"]


def test_key_looks_like_one_of_aws(tmp_path: Path) -> None:
    key = read_key(ensure_key(tmp_path), ACCOUNT)
    assert re.fullmatch(r"AKIA[A-Z2-7]{16}", key.key_id)
    assert re.fullmatch(r"[A-Za-z0-9]{40}", key.secret)
    assert key.account == ACCOUNT


def test_every_directory_gets_a_key_of_its_own(tmp_path: Path) -> None:
    first = read_key(ensure_key(tmp_path / "1"), ACCOUNT)
    second = read_key(ensure_key(tmp_path / "2"), ACCOUNT)
    assert first.key_id != second.key_id
    assert first.secret != second.secret


def test_later_starts_keep_the_key(tmp_path: Path) -> None:
    first = ensure_key(tmp_path).read_bytes()
    assert ensure_key(tmp_path).read_bytes() == first


def test_key_of_ones_own_choice_is_taken(tmp_path: Path) -> None:
    path = key_path(tmp_path)
    path.write_text(
        '{"access_key_id": "my_own_key_id_01", "secret_access_key": "0123456789/+abcd"}'
    )
    path.chmod(0o400)
    assert read_key(path, ACCOUNT).key_id == "my_own_key_id_01"


def test_secret_does_not_show_when_a_key_is_printed(tmp_path: Path) -> None:
    key = read_key(ensure_key(tmp_path), ACCOUNT)
    assert key.secret not in repr(key)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_file_that_others_can_use_is_refused(tmp_path: Path, mode: int) -> None:
    path = ensure_key(tmp_path)
    path.chmod(mode)
    with pytest.raises(StoreUnusable, match=f"mode {mode:04o}.*chmod 600"):
        read_key(path, ACCOUNT)


def test_link_in_the_place_of_the_key_file_is_refused(tmp_path: Path) -> None:
    path = ensure_key(tmp_path / "other")
    key_path(tmp_path).symlink_to(path)
    with pytest.raises(StoreUnusable, match="is a symbolic link; replace the link"):
        read_key(ensure_key(tmp_path), ACCOUNT)


def test_key_file_of_another_user_is_refused(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        path = ensure_key(tmp_path)
        found = os.stat_result((*path.stat()[:4], 4_711, *path.stat()[5:]))
        patch.setattr(os, "fstat", lambda _: found)
        with pytest.raises(StoreUnusable, match="belongs to user 4711; remove it"):
            read_key(path, ACCOUNT)


@pytest.mark.parametrize(
    "contents",
    [
        b"",
        b"not json",
        b"\xff\xfe",
        b"[]",
        b'{"access_key_id": "AKIAAAAAAAAAAAAAAAAA"}',
        b'{"access_key_id": "short", "secret_access_key": "0123456789abcdef"}',
        b'{"access_key_id": "AKIAAAAAAAAAAAAAAAAA", "secret_access_key": "with white space"}',
        b" " * 5_000,
    ],
)
def test_garbage_is_refused_and_left_alone(tmp_path: Path, contents: bytes) -> None:
    path = key_path(tmp_path)
    path.write_bytes(contents)
    path.chmod(0o600)
    with pytest.raises(StoreUnusable, match="not a key file; remove it"):
        read_key(ensure_key(tmp_path), ACCOUNT)
    assert path.read_bytes() == contents


def test_missing_file_is_named_with_its_remedy(tmp_path: Path) -> None:
    with pytest.raises(StoreUnusable, match="start the service once"):
        read_key(key_path(tmp_path), ACCOUNT)


def test_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StoreUnusable, match="cannot be made"):
        ensure_key(tmp_path / "file" / "data")


def test_file_that_came_in_between_wins(tmp_path: Path) -> None:
    rival = tmp_path / "rival"
    other = ensure_key(rival)

    def choose(alphabet: str) -> str:
        path = key_path(tmp_path)
        if not path.exists():
            path.write_bytes(other.read_bytes())
            path.chmod(0o600)
        return alphabet[0]

    assert read_key(ensure_key(tmp_path, choose), ACCOUNT) == read_key(other, ACCOUNT)


def test_draft_of_a_killed_start_does_no_harm(tmp_path: Path) -> None:
    key_path(tmp_path).with_name(f"{KEY_FILE}.{os.getpid()}").touch()
    assert ensure_key(tmp_path).stat().st_mode & 0o777 == 0o600
