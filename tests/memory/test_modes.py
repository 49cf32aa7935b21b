"""Modes of what the SQLite store makes (M-8.2): whatever the umask lets through, nobody else reads a conversation."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from concerto.runtime.memory.stores.sqlite import SqliteStore


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture(autouse=True)
def open_umask():
    before = os.umask(0)
    yield
    os.umask(before)


def test_directory_and_files_are_the_user_s_alone(tmp_path):
    store = SqliteStore(str(tmp_path / ".concerto" / "memory.db"))
    folder = tmp_path / ".concerto"
    assert mode(folder) == 0o700
    files = {path.name: mode(path) for path in folder.iterdir()}
    assert files == {"memory.db": 0o600, "memory.db-wal": 0o600, "memory.db-shm": 0o600}
    store.close()


def test_what_is_there_keeps_its_mode(tmp_path):
    path = tmp_path / "shared.db"
    SqliteStore(str(path)).close()
    path.chmod(0o640)
    SqliteStore(str(path)).close()
    assert mode(path) == 0o640
