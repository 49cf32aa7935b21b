"""V-8.8, what Concerto adds to the SDK: calls one after the other to a server here that answers at once, CPU time of the process,
beside a process that makes the same calls with the SDK alone.

Each side is a process of its own: a compiled program run by the command, and `bare_sdk.py`. A process with one call tells of the
first one; what the calls behind it add, divided by their number, is a call.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from concerto.compiler.pipeline import compile_source
from concerto.vm.bytecode.encoding import encode

from ..execution import Failed
from ..figures import Figure, Target
from ..sampling import Plan
from .serving import ROOT, server

CALL = Target("V-8.8", 1.0, on_ratio=True)
FIRST = Target("V-8.8", 1.25, on_ratio=True)
CALLS = 200
SAMPLES = 5  # of each process, by turns; the median counts
BARE = Path(__file__).with_name("bare_sdk.py")
PROGRAM = """\
connect box {{ provider: "custom", base_url: "http://127.0.0.1:{port}/v1", timeout: 60 }}
model M {{ provider: box, base: "m" }}
fn main() {{
    for n in 0..{calls} {{ assert_eq(M.execute("${{n}}")?.text, "yes"); }}
}}
"""


def calls_beside_the_sdk(plan: Plan) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder, server(0.0) as port:
        sides = [(ours(port, 1, folder), ours(port, CALLS + 1, folder), bare(port, 1), bare(port, CALLS + 1))]
        sides = [tuple(seconds(words) for words in sides[0]) for _ in range(1 if plan.quick else SAMPLES)]
    first, many, bare_first, bare_many = [median(column) for column in zip(*sides, strict=True)]
    call, bare_call = (many - first) / CALLS, (bare_many - bare_first) / CALLS
    return [
        Figure("sdk_call", call * 1000, "ms", CALL, call / bare_call, note="CPU time of a call; ratio to the bare SDK"),
        Figure("sdk_first", first * 1000, "ms", FIRST, first / bare_first,
               note="CPU time of a process with one call; ratio to the bare SDK"),
    ]  # fmt: skip


def ours(port: int, calls: int, folder: str) -> list[str]:
    """The command of a process that makes so many calls."""
    result = compile_source(PROGRAM.format(port=port, calls=calls).encode(), "calls.conc")
    assert result.image is not None, [found.message for found in result.diagnostics.found]
    image = Path(folder) / f"calls-{calls}.concb"
    image.write_bytes(encode(result.image))
    return [sys.executable, "-c", "import sys; from concerto.cli.main import main; sys.exit(main())", "run", str(image)]


def bare(port: int, calls: int) -> list[str]:
    return [sys.executable, str(BARE), str(port), str(calls)]


def seconds(words: list[str]) -> float:
    """CPU time of a process, from its start to its end."""
    process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    said = process.stderr.read()
    process.stderr.close()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise Failed(said.decode(errors="replace")[-1000:])
    return used.ru_utime + used.ru_stime
