"""What a new row costs (V-2.1, V-2.2, V-2.5, V-2.8): in a copy of the machine one row and one function make an opcode, one
decorated function a built-in method, one row and one file a provider; the generator of the loop refuses rows without a meaning,
with two, or with another stack effect.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from concerto.vm.providers import PROVIDERS

ROOT = Path(__file__).resolve().parent.parent.parent
ROOMS = ("__init__.py", "api", "cli", "compiler", "runtime")  # beside the machine
LAST = '    ("MCP", k.MCP, "-- server", "next", "a handle of an MCP server"),\n'
ROW = '    ("TWICE", k.NONE, "a -- doubled", "next", "a value added to itself"),\n'
MEANING = "\n\ndef TWICE(a: Any) -> Any:\n    return add(a, a)\n"
METHOD = '''

@method("Int", "twice() -> Int", clause="L-6.2.2")
def twice(value: int) -> int:
    """The number added to itself."""
    return fit(value * 2, "twice")
'''
OFFLINE_ROW = '    ProviderRow("offline", '
PROVIDER_ROW = """    ProviderRow(
        "acme", {"acme": "acme.Acme"}, base_url="https://api.acme.example/v1", key_variable="ACME_KEY", key_shape="acme-[0-9]{8}",
        fields=("organization",), bills_prefixes_less=True, starter=("acme", "acme-1"),
    ),
"""
PROVIDER_FILE = '''"""The wire of Acme: the chat completions of OpenAI with a part of their own."""

from __future__ import annotations

from .openai import OpenAIChat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..records import Request


class Acme(OpenAIChat):
    wire = "acme"

    def lower(self, request: Request) -> dict[str, Any]:
        return {**super().lower(request), "acme": True}
'''
PROVIDER_USED = """
import sys
from concerto.runtime.access.secrets import Redactor
from concerto.runtime.providers.pool import ProviderPool
from concerto.runtime.connections import resolve_all
from concerto.runtime.records import Msg, Request
from concerto.vm.providers import PROVIDERS

pool = ProviderPool(resolve_all([{"lab": {"provider": "acme"}}]), env={}, redactor=Redactor(), sleep=None)
request = Request(id="r", connection="lab", model="m", messages=[Msg("user", "hi")])
assert "concerto.runtime.providers.acme" not in sys.modules
print([type(pool[name]).__name__ for name in ("acme", "lab", "ollama", "anthropic")], pool["lab"].lower(request))
print(pool["lab"].settings.base_url, pool["lab"].settings.api_key_env)
"""
ASKS_ACME = """
connect lab { organization: "o" }
memory log: Memory = Memory::new(20);
model Own { provider: acme, base: "a", memory: log }
model Lab { provider: lab, base: "b", stop_sequences: ["x"] }
fn main() { emit("said", Own.execute("hi")?.text + " " + Lab.execute("there")?.text); }
"""
REFUSED = """
connect lab { provider: "acme", project: "p" }
connect box { provider: "nobody" }
connect bare { }
fn main() { emit("key", "acme-12345678"); }
"""
LIBRARY = """
from concerto.compiler.pipeline import compile_source
from concerto.runtime.host import Host
from concerto.runtime.session.session import Session, run_offline
from concerto.vm.bytecode.asm import assemble
from concerto.vm.bytecode.encoding import decode, encode
from concerto.vm.bytecode.disasm import disassemble
from concerto.vm.bytecode.image import ImageError
from concerto.vm.interp.link import load_bytes

def made(source):
    compiled = compile_source(source.encode(), "main.conc")
    assert compiled.image is not None, [d.message for d in compiled.diagnostics.found]
    return compiled.image

def run(image):
    out = []
    host = Host(
        emit=lambda c, v, r: r or out.append(v), print=lambda t: None, env={}, now=lambda: 0.0, sleep=None,
        random=lambda: 0.5, offline=True,
    )
    outcome = run_offline(Session(load_bytes(encode(image)), host))
    return outcome.panic.code if outcome.panic else out
"""
OPCODE_USED = """
text = disassemble(made('fn f(x: Int) -> Int { x }\\nfn main() { emit("out", f(21)); }'))
assert text.count("LOAD 0 ") == 1, text
at = text.index("\\n", text.index("LOAD 0 "))
image = assemble(text[:at] + "\\n    TWICE" + text[at:])
assert disassemble(decode(encode(image))).count("TWICE") == 1
print(run(image))
start = text.rindex("\\n", 0, at) + 1
try:
    print(run(assemble(text[:start] + "    TWICE\\n" + text[start:])))
except ImageError as refusal:
    print(refusal.code)
"""
METHOD_USED = """
print(run(made('fn main() { emit("out", 21.twice()); }')))
print(run(made('fn main() { let n: Any = 9223372036854775807; emit("out", n.twice()); }')))
print([d.code for d in compile_source(b'fn main() { emit("out", 21.twice(1)); }', "main.conc").diagnostics.found])
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A tree with its own machine and tools; the other rooms are those of the repository."""
    for folder in ("vm", "tools"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    package = tmp_path / "concerto"
    package.mkdir()
    (package / "vm").symlink_to(tmp_path / "vm")
    for name in ROOMS:
        (package / name).symlink_to(ROOT / name)
    return tmp_path


def python(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment, cwd=tree, check=False)


def add(file: Path, text: str, behind: str | None = None) -> None:
    before = file.read_text(encoding="utf-8")
    assert behind is None or before.count(behind) == 1
    file.write_text(before + text if behind is None else before.replace(behind, behind + text), encoding="utf-8")


def page(tree: Path, name: str) -> str:
    made = python(tree, "tools/gen_reference.py", "--target", str(tree / "pages"))
    assert made.returncode == 0, made.stderr
    return (tree / "pages" / name).read_text(encoding="utf-8")


def test_an_opcode_is_one_row_and_one_function(copy: Path) -> None:
    """Encoder, decoder, verifier, assembler, disassembler, loop and page know it from there."""
    add(copy / "vm/bytecode/opcodes.py", ROW, behind=LAST)
    add(copy / "vm/interp/ops.py", MEANING)
    written = python(copy, "tools/gen_loop.py")
    assert written.returncode == 0, written.stderr
    done = python(copy, "-c", LIBRARY + OPCODE_USED)
    assert (done.stdout, done.stderr) == ("[42]\nV111\n", "")
    assert "| `TWICE` |" in page(copy, "opcodes.md")


def test_a_method_is_one_decorated_function(copy: Path) -> None:
    """Checker, dispatch of known and of dynamic values, and the page read it there."""
    add(copy / "vm/builtins/numbers.py", METHOD)
    done = python(copy, "-c", LIBRARY + METHOD_USED)
    assert (done.stdout, done.stderr) == ("[42]\nP002\n['E2006']\n", "")
    assert "| `twice() -> Int`" in page(copy, "builtins.md")


def test_a_provider_is_one_row_and_one_file(copy: Path) -> None:
    """Checker, manifest, connections, pool, offline runs, notes on prompt caches and `init` know it from there."""
    (copy / "concerto/runtime").unlink()
    shutil.copytree(ROOT / "runtime", copy / "concerto/runtime", ignore=shutil.ignore_patterns("__pycache__"))
    table = copy / "vm/providers.py"
    before = table.read_text(encoding="utf-8")
    assert before.count(OFFLINE_ROW) == 1
    table.write_text(before.replace(OFFLINE_ROW, PROVIDER_ROW + OFFLINE_ROW), encoding="utf-8")
    (copy / "concerto/runtime/providers/acme.py").write_text(PROVIDER_FILE, encoding="utf-8")
    (copy / "Concerto.toml").write_text('[connections.lab]\nprovider = "acme"\n', encoding="utf-8")
    (copy / "main.conc").write_text(ASKS_ACME, encoding="utf-8")

    checked = concerto(copy, "check", "main.conc")
    assert (checked.returncode, checked.stderr) == (0, "")
    offline = concerto(copy, "run", "main.conc", "--offline")
    assert (offline.returncode, offline.stdout) == (0, "[emit:said] offline: hi offline: there\n"), offline.stderr
    keyless = concerto(copy, "run", "main.conc")
    assert keyless.returncode == 1 and "environment variable ACME_KEY is not set" in keyless.stderr
    assert "note: memory log" in concerto(copy, "compile", "main.conc").stderr
    used = python(copy, "-c", PROVIDER_USED)
    lowered = {"model": "m", "messages": [{"role": "user", "content": "hi"}], "acme": True}
    classes = ["Acme", "Acme", "OpenAIChat", "Anthropic"]
    assert used.stdout == f"{classes} {lowered}\nhttps://api.acme.example/v1 ACME_KEY\n", used.stderr
    made = concerto(copy, "init", "fresh", "--provider", "acme")
    assert made.returncode == 0 and "provider: acme," in (copy / "fresh/src/main.conc").read_text(encoding="utf-8"), made.stderr


def test_what_is_said_of_providers_names_the_new_one(copy: Path) -> None:
    table = copy / "vm/providers.py"
    table.write_text(table.read_text(encoding="utf-8").replace(OFFLINE_ROW, PROVIDER_ROW + OFFLINE_ROW), encoding="utf-8")
    (copy / "refused.conc").write_text(REFUSED, encoding="utf-8")
    said = concerto(copy, "check", "refused.conc").stderr
    assert "`project` of connection `lab` is not carried by provider `acme`" in said
    names = [f'"{name}"' for name in [*(name for name in PROVIDERS if name != "offline"), "acme", "offline"]]
    assert f"`provider` is one of {', '.join(names)}" in said
    assert f"add `provider: {names[0]}`; others are {', '.join(names[1:])}" in said
    assert "this text has the shape of a provider key" in said


def concerto(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return python(tree, "-c", "import sys; from concerto.cli.main import main; sys.exit(main(sys.argv[1:]))", *words)


@pytest.mark.parametrize(
    ("row", "meaning", "complaint"),
    [
        (ROW, "", "TWICE has no meaning"),
        (ROW, MEANING.replace("a", "b"), "TWICE: parameters ['b'] do not fit"),
        (ROW, MEANING.replace("(a: Any)", "(a: Any, b: Any)"), "TWICE: parameters ['a', 'b'] do not fit"),
        ("", "\n\ndef POP_TRY(value: Any) -> None:\n    pass\n", "POP_TRY has two meanings"),
        ("", MEANING.replace("TWICE", "NIL"), "NIL: parameters ['a'] do not fit"),
    ],
)
def test_rows_and_functions_that_do_not_fit_are_refused(copy: Path, row: str, meaning: str, complaint: str) -> None:
    add(copy / "vm/bytecode/opcodes.py", row, behind=LAST)
    add(copy / "vm/interp/ops.py", meaning)
    written = python(copy, "tools/gen_loop.py")
    assert written.returncode == 1 and complaint in written.stderr


def test_the_committed_loop_is_that_of_the_rows() -> None:
    assert subprocess.run([sys.executable, ROOT / "tools" / "gen_loop.py", "--check"], check=False).returncode == 0
