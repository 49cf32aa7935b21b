"""Commands that run where only ply and msgpack are installed beside Concerto, and those that name what they lack."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


class Command(NamedTuple):
    """The words of a command, its exit code, and a text that stdout or stderr has; `keys`: with the keys of providers set."""

    words: str
    code: int
    says: str = ""
    keys: bool = False


ASKS = """
model G { provider: openai, base: "gpt-5.4-mini" }
model C { provider: anthropic, base: "claude-haiku-5-5" }
embedder E { provider: openai, base: "text-embedding-3-small" }
fn main() {
    println(G.execute("hi").map_err(|e| e.message).unwrap_err());
    println(C.execute("hi").map_err(|e| e.message).unwrap_err());
    println(E.embed("hi").map_err(|e| e.message).unwrap_err());
}
"""
FETCHES = """
fn main() { println(std::http::get("http://127.0.0.1:9/").map_err(|e| e.message).unwrap_err()); }
"""

COMMANDS = (
    Command("version", 0, "concerto "),
    Command("help", 0, "run the main function"),
    Command("check examples/ticket.conc examples/tools.conc", 0),
    Command("fmt --check examples/ticket.conc", 0),
    Command("run examples/ticket.conc --offline", 0, "[emit:remembered] 2"),
    Command("run examples/retry.conc --offline-script examples/retry.replies.json", 0, '"item": "ticket"'),
    Command("run examples/emits.conc --offline", 0),
    Command("run examples/pipeline.conc --offline", 0),
    Command("run examples/side_by_side.conc --offline", 0),
    Command("test examples/tools.conc", 0, "3 passed, 0 failed"),
    Command("test examples/stores.conc --junit tests.xml", 0, "0 failed"),
    Command("test examples/mcp/main.conc", 0, "0 failed"),
    Command("compile examples/ticket.conc -o t.concb", 0),
    Command("run t.concb --offline", 0, "[emit:remembered] 2"),
    Command("inspect t.concb", 0, "key_variables: ANTHROPIC_API_KEY"),
    Command("disasm t.concb", 0, "CALL_METHOD"),
    Command("run examples/ticket.conc --offline --record r.effects.jsonl", 0),
    Command("run examples/ticket.conc --replay r.effects.jsonl", 0, "[emit:remembered] 2"),
    Command("trace r.effects.jsonl", 0, "claude-haiku"),
    Command("trace r.effects.jsonl --html page.html", 0),
    Command("trace r.effects.jsonl --check examples/ticket.conc", 0),
    Command("run examples/ticket.conc --offline --store runs.db", 0),
    Command("runs list --store runs.db", 0, "ticket"),
    Command("init made", 0, "concerto test"),
    Command("test made", 0, "0 failed"),
    Command("repl --offline", 0),
    Command("conformance --filter L-5.1.21", 0, "0 failed"),
    Command("lsp --help", 0, "language server"),
    Command("trace --help", 0, "--html"),
    # What lacks a library says so.
    Command("run examples/ticket.conc", 0, "ANTHROPIC_API_KEY is not set"),
    Command("run asks.conc", 0, "the package openai is not installed: python -m pip install 'openai<4,>=3", keys=True),
    Command("run asks.conc", 0, "the package anthropic is not installed: python -m pip install 'anthropic<3,>=2", keys=True),
    Command("models openai", 1, "the package openai is not installed: python -m pip install 'openai<4,>=3", keys=True),
    Command("run fetches.conc --allow-net=127.0.0.1", 0, "the package httpx2 is not installed: python -m pip install 'httpx2<3,"),
    Command("run examples/mcp/main.conc --offline --allow-run", 1, "the MCP SDK is not installed: python -m pip install 'mcp<3,"),
    Command("lsp", 1, "pygls, which is not installed: python -m pip install 'pygls<3,"),
    Command("keygen release", 1, "cryptography, which is not installed: python -m pip install 'cryptography<51,"),
)
KEYS = {"OPENAI_API_KEY": "test-key", "ANTHROPIC_API_KEY": "test-key"}


def prepare(folder: Path) -> None:
    """Lay the programs into a folder, in which the commands are given one after another."""
    (folder / "examples").symlink_to(EXAMPLES)
    (folder / "asks.conc").write_text(ASKS)
    (folder / "fetches.conc").write_text(FETCHES)
