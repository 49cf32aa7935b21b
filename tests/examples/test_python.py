"""The example in Python: its script, its web application for two tenants, its stub, and what type checkers say (P-2.1 to
P-2.4)."""

from __future__ import annotations

import importlib
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import concerto.importer  # noqa: F401  # finds `desk`
import pytest
from concerto.api import python_modules

from ..api.test_stubs import checked_by_mypy, checked_by_pyright
from ..command import EXAMPLES
from ..command import concerto as command

FOLDER = EXAMPLES / "python"
TICKET = '{"title": "Broken chair", "kind": "refund", "urgent": true}'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "python"
    shutil.copytree(FOLDER, made, ignore=shutil.ignore_patterns("__pycache__", ".*_cache"))
    return made


@pytest.fixture
def app(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    pytest.importorskip("fastapi")
    monkeypatch.syspath_prepend(str(folder))
    yield importlib.import_module("app")
    python_modules._MODULES.pop("desk").end()
    for name in ("app", "desk"):
        del sys.modules[name]


def test_the_stub_is_up_to_date() -> None:
    assert command("stubs", "desk.conc", "--check", cwd=FOLDER) == (0, "", "")


def test_the_script(folder: Path) -> None:
    import subprocess

    done = subprocess.run([sys.executable, "script.py", "--offline"], cwd=folder, capture_output=True, text=True)
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert len(lines) == 4 and lines[-1] == "2 messages" and lines[0].startswith("-  (question) {")
    assert lines[2].startswith("offline: And what happens now?")


def test_type_checkers(folder: Path) -> None:
    assert checked_by_mypy(folder, "script.py", "app.py", "desk.pyi") == (0, "")
    assert checked_by_pyright(folder, "script.py", "app.py", "desk.pyi") == []


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_two_tenants(app: Any) -> None:
    """Customers of one name have a conversation for each tenant; what a tenant's model says stays with it."""
    from starlette.testclient import TestClient

    options = {
        "acme": {"offline_script": [TICKET, "Hello Ada of acme.", "Again, Ada of acme."]},
        "globex": {"offline_script": ["Hello Ada of globex."]},
    }
    with TestClient(app.create_app(options)) as client:
        found = client.post("/acme/tickets", params={"letter": "My chair!"})
        assert found.json() == json.loads(TICKET)
        ada = {"name": "Ada"}
        answer = client.post("/acme/answers", params={"letter": "Hello?"}, json=ada)
        assert answer.text == "Hello Ada of acme." and answer.headers["content-type"].startswith("text/plain")
        with_tickets = {"name": "Ada", "open": [json.loads(TICKET)]}
        assert client.post("/acme/answers", params={"letter": "And?"}, json=with_tickets).text == "Again, Ada of acme."
        assert client.post("/globex/answers", params={"letter": "Hello?"}, json=ada).text == "Hello Ada of globex."
        places = ("acme/customers/Ada", "globex/customers/Ada", "acme/customers/Bob")
        counts = [client.get(f"/{place}/messages").json() for place in places]
        assert counts == [4, 2, 0]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_wrong_requests(app: Any) -> None:
    from starlette.testclient import TestClient

    with TestClient(app.create_app({"acme": {"offline": True}})) as client:
        assert client.get("/nobody/customers/Ada/messages").status_code == 404
        for body in ({"name": 1}, {}, {"name": "Ada", "extra": 1}, {"name": "Ada", "open": [{"title": "x"}]}, [], "Ada"):
            assert client.post("/acme/answers", params={"letter": "x"}, json=body).status_code == 422
        described = client.get("/openapi.json").json()
        answer = described["paths"]["/{tenant}/tickets"]["post"]["responses"]["200"]["content"]["application/json"]["schema"]
        assert "question" in json.dumps({**answer, "more": described["components"]})


def test_a_model_asks_functions_of_python(folder: Path) -> None:
    words = ("run", "shop.conc", "--offline-script", "shop.replies.json")
    done = command(*words, "--allow-python=prices", "--record", "shop.jsonl", cwd=folder)
    assert done.code == 0 and done.err == "", done
    said = "A lamp is 49 euro, and you can have it today."
    assert done.out == f"[emit:answer] {said}\n[emit:together] 13800\n[emit:no price] Raised\n"
    rows = [json.loads(line) for line in (folder / "shop.jsonl").read_text().splitlines()]
    last = [row for row in rows if row.get("kind") == "model"][-1]["request"]["messages"]
    assert [message["content"] for message in last if message["role"] == "tool"] == ["4900", "true"]
    assert "grant it with --allow-python=prices" in command(*words, cwd=folder).err
