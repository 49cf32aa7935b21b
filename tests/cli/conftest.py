"""The command in this process: `cli(*words)` gives code, stdout and stderr; the working directory is the test's own."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from concerto.cli.main import main

from ..command import Ended

VARIABLES = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "CONCERTO_OFFLINE", "CONCERTO_TRACEBACK", "NO_COLOR", "FORCE_COLOR")

Command = Callable[..., Ended]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    monkeypatch.chdir(tmp_path)
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)

    def run(*words: str, stdin: bytes = b"") -> Ended:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        try:
            code = main(words)
        except SystemExit as leaving:  # argparse, on --help and bad usage
            assert isinstance(leaving.code, int)
            code = leaving.code
        out, err = capsys.readouterr()
        assert "Traceback" not in err and "internal error" not in err
        return Ended(code, out, err)

    return run


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], str]:
    """A file in the working directory; gives its name."""

    def write_file(name: str, content: str | bytes) -> str:
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        return name

    return write_file
