"""Hold one conversation of 50 turns with each memory policy and each framework; print `docs/generated/prompt-caches.md`.

    python -m benches.prompt_caches --peers /path/to/python > docs/generated/prompt-caches.md

The figures are exact: they depend on neither time nor machine.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import concerto

from .conversation import SYSTEM, TURNS, question
from .server import Ledger, serving

HERE = Path(__file__).parent
POLICIES = {
    "`Memory::new()`": "Memory::new()",
    "`Memory::new(20)`": "Memory::new(20)",
    "`.window(20)`": "Memory::new().window(20)",
    "`.window(20, low: 10)`": "Memory::new().window(20, low: 10)",
    "`.tokens(4000)`": "Memory::new().tokens(4000)",
    "`.window(20, low: 10).summary(f)`": 'Memory::new().window(20, low: 10).summary(|new, old| "A summary of ${new.len()}.")',
}
WIRES = {
    "OpenAI": '{ provider: "openai", api: "chat", base_url: "ADDRESS/v1", api_key: env("KEY") }',
    "Anthropic": '{ provider: "anthropic", base_url: "ADDRESS", api_key: env("KEY") }',
}
PROGRAM = """
connect lab CONNECTION
memory chat: Memory = POLICY;
model M { provider: lab, base: "m-1", memory: chat, system_prompt: SYSTEM CACHE }
pub fn ask(text: String) -> Result<Nil, AgentError> { M.execute(text)?; }
"""


def of_concerto(policy: str, wire: str, cache: str = "") -> Ledger:
    """Return the ledger of the conversation with a memory of this policy."""
    with serving() as (address, ledger):
        source = PROGRAM.replace("CONNECTION", WIRES[wire].replace("ADDRESS", address)).replace("POLICY", policy)
        source = source.replace("SYSTEM", f'"{SYSTEM}"').replace("CACHE", cache)
        with concerto.compile(source).session(env={"KEY": "none"}) as session:
            for number in range(TURNS):
                session.call("ask", question(number))
    return ledger


def of_peer(python: str, name: str) -> Ledger:
    """Return the ledger of the conversation as another framework holds it. Raises CalledProcessError when it fails."""
    with serving() as (address, ledger):
        subprocess.run([python, str(HERE / "peers.py"), name, address], check=True, cwd=HERE, stdout=subprocess.DEVNULL)
    return ledger


def row(name: str, wire: str, ledger: Ledger) -> str:
    share = sum(ledger.shares) / len(ledger.shares)
    whole = f"{100 * ledger.billed / ledger.tokens:.0f} %"
    bar = "█" * round(20 * ledger.billed / ledger.tokens)
    return f"| {name} | {wire} | {100 * share:.0f} % | {ledger.tokens:,} | {ledger.billed:,.0f} | {whole} {bar} |"


HEAD = f"""# Prompt caches

One conversation of {TURNS} turns, a system message of {len(SYSTEM) // 4:,} tokens, each question and reply of about 80. The
share is that of a request's bytes which equal the request before, on the average; the input tokens are those of all requests;
billed is what they cost in tokens of the full price by the rules that providers publish (`benches/prompt_caches/server.py`), and
the last column is what is paid of them. Made by `python -m benches.prompt_caches --peers PYTHON`.

| Who | Provider | Same bytes | Input tokens | Billed as | Paid |
|---|---|---|---|---|---|"""


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m benches.prompt_caches", description=__doc__)
    options.add_argument("--peers", metavar="PYTHON", help="an interpreter with requirements.txt installed")
    chosen = options.parse_args()
    print(HEAD)
    for wire in WIRES:
        for name, policy in POLICIES.items():
            print(row(f"Concerto, {name}", wire, of_concerto(policy, wire)), flush=True)
    silent = of_concerto("Memory::new()", "Anthropic", ", cache_prompt: false")
    print(row("Concerto, `Memory::new()`, `cache_prompt: false`", "Anthropic", silent))
    if chosen.peers is None:
        print("other frameworks are left out: name an interpreter that has them with --peers", file=sys.stderr)
        return 0
    listing = [chosen.peers, "-c", "import peers; print('\\n'.join(peers.PEERS))"]
    names = subprocess.run(listing, check=True, cwd=HERE, capture_output=True, text=True).stdout
    for name in names.splitlines():
        who, _, wire = name.rpartition(", ")
        print(row(who, wire, of_peer(chosen.peers, name)), flush=True)
    return 0


sys.exit(main())
