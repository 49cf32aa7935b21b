"""`make check-inspector`: the command of the MCP inspector, a client that others made, calls `concerto mcp` and `/mcp` (S-1.5).

It needs a newer Node.js than most systems have, and 300 MB of packages, so `make test` leaves it out. INSPECTOR names the folder
into which npm has put both.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from .served import running

PROGRAM = """
schema Order { item: String, pieces: Int = 1 }
memory chat { retain: 20 }
model M { provider: openai, base: "m" }
/// Adds two numbers.
pub fn add(a: Int, b: Int = 1) -> Int { a + b }
pub fn order(order: Order) -> Order { order }
pub fn take(pieces: Int) -> Result<Int> { if pieces > 0 { pieces } else { throw ToolError::new("no pieces"); } }
pub fn say(text: String) -> Result<String> { M.with_memory(chat).execute(text)?.text }
"""
FOLDER = Path(os.environ["INSPECTOR"]) / "node_modules"
CLIENT = [FOLDER / "node/bin/node", FOLDER / "@modelcontextprotocol/inspector/cli/build/cli.js", "--cli"]


def asked(server: list[str], *words: str) -> Any:
    """What the inspector prints of an answer."""
    done = subprocess.run([*map(str, CLIENT), *server, *words], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, (words, done.stdout[-1500:], done.stderr[-1500:])
    return json.loads(done.stdout)


@pytest.fixture(params=["stdio", "http"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """The words by which the inspector reaches the program: as a child, or at its address."""
    if request.param == "stdio":
        (tmp_path / "desk.conc").write_text(PROGRAM)
        yield [sys.executable, "-m", "concerto", "mcp", str(tmp_path / "desk.conc"), "--offline"]
        return
    with running(tmp_path, "--quiet", source=PROGRAM) as served:
        yield [f"{served.url}/mcp", "--transport", "http"]


def test_tools(server: list[str]) -> None:
    tools = {tool["name"]: tool for tool in asked(server, "--method", "tools/list")["tools"]}
    assert set(tools) == {"add", "order", "say", "take"} and tools["add"]["description"] == "Adds two numbers."
    assert tools["add"]["inputSchema"]["required"] == ["a"] and "order" in tools["order"]["inputSchema"]["properties"]
    answer = asked(server, "--method", "tools/call", "--tool-name", "add", "--tool-arg", "a=4", "--tool-arg", "b=5")
    assert answer["structuredContent"] == {"result": 9} and not answer["isError"]
    said = asked(server, "--method", "tools/call", "--tool-name", "say", "--tool-arg", "text=hello")
    assert said["content"] == [{"type": "text", "text": "offline: hello"}]


def test_failures_are_results(server: list[str]) -> None:
    refused = asked(server, "--method", "tools/call", "--tool-name", "take", "--tool-arg", "pieces=0")
    assert refused["isError"] and "no pieces" in refused["content"][0]["text"]
    wrong = asked(server, "--method", "tools/call", "--tool-name", "add", "--tool-arg", "a=x")
    assert wrong["isError"] and "argument 'a' of add" in wrong["content"][0]["text"]


def test_resources(server: list[str]) -> None:
    (resource,) = asked(server, "--method", "resources/list")["resources"]
    assert resource["uri"] == "memory://chat"
    (content,) = asked(server, "--method", "resources/read", "--uri", "memory://chat")["contents"]
    assert json.loads(content["text"]) == []
