"""Commands and MCP servers that hang, flood, fork and do not want to end: nothing is left after the run (G-2.23, G-11.2).

`agents/test_process.py` does the same to agents, cycle after cycle in one process.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from ..agents.test_process import HOSTILE, running
from ..command import concerto

FORKS = (
    "import os, time\n"
    "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(600)\n    os._exit(0)\n"
    "os.close(0); os.close(1); os.close(2); time.sleep(600)\n"
)
SHAPES = {name: source for name, source in HOSTILE.items() if name != "answers"} | {"leaves its session": FORKS}


def scripts(folder: Path, mark: str) -> list[str]:
    names = []
    for number, source in enumerate(SHAPES.values()):
        name = f"{mark}-{number}.py"
        (folder / name).write_text(source.replace("MARK", mark))
        names.append(name)
    return names


@pytest.mark.parametrize("family", ["command", "mcp"])
def test_nothing_is_left_of_hostile_children(tmp_path: Path, family: str) -> None:
    assert len(SHAPES) == 8
    mark = f"concerto-test-{os.getpid()}-{family}"
    names = scripts(tmp_path, mark)
    if family == "command":
        heads = "use std::tools::ShellTool;"
        calls = [f'ShellTool.exec("{sys.executable} {name}", timeout_ms: 300)' for name in names]
    else:
        pytest.importorskip("mcp")
        fields = f'transport: "stdio", command: "{sys.executable}", timeout: 0.3'
        heads = "\n".join(f'mcp W{n} {{ {fields}, args: ["{tmp_path / name}"] }}' for n, name in enumerate(names))
        calls = [f'W{n}.call("x")' for n in range(len(names))]
    body = "\n".join(f"    println({n}, {call}.is_err());" for n, call in enumerate(calls))
    (tmp_path / "main.conc").write_text(f"{heads}\nfn main() {{\n{body}\n}}\n")
    (tmp_path / "tmp").mkdir()
    done = concerto("run", "main.conc", "--offline", "--allow-run", cwd=tmp_path, TMPDIR=str(tmp_path / "tmp"))
    assert done == (0, "".join(f"{n} true\n" for n in range(len(names))), "")
    assert running(mark) == []
    assert os.listdir(tmp_path / "tmp") == []
