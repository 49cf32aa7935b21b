"""The page of a served program (S-1.1), used in a browser where there is one."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from concerto.serve.tryout import FOLDER

from ..serve.served import running

HERE = Path(__file__).parent
CHROMIUM = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), None)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.skipif(CHROMIUM is None or not (HERE / "node_modules").exists(), reason="no Chromium or no npm packages here")
def test_a_person_tries_functions_and_answers(scheme: str, tmp_path: Path) -> None:
    """With a token and a session: a call, a stream, bad JSON, a question, a cancelled stream. Nothing comes from elsewhere,
    nothing that a program says is markup, and axe-core finds nothing."""
    tokens = tmp_path / "tokens"
    tokens.write_text("me 0123456789abcdef\n")
    with running(tmp_path, "--tokens", str(tokens)) as server:
        words = ["node", str(HERE / "try.mjs"), str(CHROMIUM), f"{server.url}/", scheme]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["without"] == "a known token is needed" and told["doc"] == "Says hello.\nTo whoever is named."
    assert json.loads(told["called"]) == 'hello <img src=x onerror="alert(1)">' and told["images"] == 0
    assert told["streamed"].splitlines() == ["n: 0", "n: 1", "n: 2", "result: 3"]
    assert "JSON" in told["wrong"] and "pay 7?" in told["question"] and "paid 7" in told["paid"]
    assert told["axe"] == []
    assert told["messages"] == [] and told["hosts"] == [server.url]


@pytest.mark.skipif(shutil.which("node") is None, reason="no node here")
def test_numbers_are_those_of_the_program() -> None:
    """A number with more digits than JavaScript has is sent and shown as it is; what a person leaves out is left out."""
    words = ["node", str(HERE / "numbers.mjs"), str(Path(FOLDER) / "try.js")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    given = json.loads(told["given"])
    assert given.pop("any") == [9007199254740993, 0.12345678901234567]
    assert given == {"id": 9007199254740993, "small": -7, "share": 1.5, "calm": True, "text": 'a"b'}
    assert "0.12345678901234567" in told["given"]
    emitted, result = told["shown"]
    assert emitted == 'c: {"payload":9007199254740993,"s":"9007199254740993 \\"x\\" 1"}\n'
    assert json.loads(result.removeprefix("result: ")) == [-9223372036854775808, 1234567890123456.5, 12]
    assert json.loads(told["pretty"]) == {"a": 18014398509481985} and json.loads(told["question"]) == [9007199254740993]
