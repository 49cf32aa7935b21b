"""The magics in the real IPython, without a terminal (P-2.6)."""

from __future__ import annotations

import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("IPython", reason="IPython is not installed: it is of the extra notebook")

from concerto.notebook.cells import CellFailed
from IPython.core.interactiveshell import InteractiveShell

Run = Callable[[str], Any]

DESK = """%%concerto
schema Ticket { title: String, kind: "bug" | "task" }
memory chat { retain: 20 }
model Sorter { provider: offline, memory: chat }
fn sort(mail: String) -> Result<Ticket> by Sorter { "Sort ${mail}" }
"""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Run a cell and return the exception that it ended with, None where it ended well."""
    monkeypatch.setenv("NO_COLOR", "1")
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "concerto.notebook")
    yield lambda text: shell.run_cell(text, store_history=True).error_in_exec
    shell.run_line_magic("unload_ext", "concerto.notebook")
    assert "concerto" not in shell.magics_manager.magics["cell"]
    InteractiveShell.clear_instance()
    assert not [one for one in threading.enumerate() if one.name.startswith("concerto-notebook")]


def test_cells_see_what_earlier_cells_declare(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("%concerto --offline") is None and run(DESK) is None
    assert run('%%concerto\nlet t = sort("x")?;\nemit("kind", t.kind);\nt') is None
    told = capsys.readouterr().out
    assert '[emit:kind] bug\nTicket {title: "", kind: "bug"}\n' in told
    assert "model      calls  tokens in  tokens out  cost\noffline-1      1 " in told
    assert run("%%concerto\nchat.len() + t.kind.len()") is None
    assert capsys.readouterr().out == "5\n", "no call, no table"


def test_a_cell_may_begin_with_items(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("%concerto --offline") is None
    assert run(f'{DESK}\nsort("x")?;\nchat.len()') is None
    assert capsys.readouterr().out.startswith("2\n")


def test_a_wrong_cell_is_told_with_carets_in_its_own_lines(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("%concerto --offline") is None and run("%%concerto\nfn f() -> Int { 1 }") is None
    capsys.readouterr()
    assert isinstance(run("%%concerto\nlet a = 1;\nnmae + a"), CellFailed)
    told = capsys.readouterr()
    shown = "cell[3]:2:1: error[E1001]: undefined name `nmae`\n  2 | nmae + a\n    | ^^^^\n"
    assert shown in told.out + told.err and "Traceback" not in told.out + told.err


def test_an_error_may_point_into_an_earlier_cell(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """And a panic tells its frames by cell and line."""
    assert run("%concerto --offline") is None
    assert run("%%concerto\n\nfn at(n: Int) -> Int {\n    [1][n]\n}") is None
    assert isinstance(run("%%concerto\nlet n = 3;\nat(n)"), CellFailed)
    told = "".join(capsys.readouterr())
    assert "panic[P004]: index out of range: index 3, length 1\n  at at (cell[2]:3:5)\n  at entry (cell[3]:2:1)" in told
    assert run("%%concerto\nfn first() -> Int {\n    at(0)\n}") is None
    assert isinstance(run("%%concerto\nfn at(n: String) -> Int { 1 }"), CellFailed)
    told = "".join(capsys.readouterr())
    assert "cell[4]:2:8: error[E2009]" in told and "\n  2 |     at(0)\n" in told, "where the function is called"


def test_an_error_of_a_cell_names_its_way(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("%concerto --offline") is None
    assert isinstance(run('%%concerto\nstd::fs::read_file("x")?'), CellFailed)
    told = "".join(capsys.readouterr())
    assert "error: permission denied: fs:read=x (grant it with --allow-fs-read=x)\n  at entry (cell[2]:1:1)" in told


def test_flags_begin_a_new_session(run: Run, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("seen")
    assert run("%concerto --offline") is None and run("%%concerto\nlet a = 1;") is None
    assert run(f'%%concerto --offline --allow-fs-read={tmp_path}\nstd::fs::read_file("{tmp_path}/x.txt")?') is None
    assert capsys.readouterr().out == '"seen"\n'
    assert isinstance(run("%%concerto\na"), CellFailed), "the new session knows no `a`"
    assert isinstance(run("%concerto --nope"), CellFailed) and isinstance(run("%concerto --env-file none"), CellFailed)
    told = "".join(capsys.readouterr())
    assert "unrecognized arguments: --nope" in told and "cannot read none" in told and "Traceback" not in told


def test_a_folder_of_recordings_that_is_gone(
    run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Systems tidy up what lies among temporary files for days."""
    made: list[Any] = []
    folder = tempfile.TemporaryDirectory
    monkeypatch.setattr(tempfile, "TemporaryDirectory", lambda **named: made.append(folder(**named)) or made[-1])
    assert run("%concerto --offline") is None and run("%%concerto\n1 + 1") is None
    shutil.rmtree(made[0].name)
    capsys.readouterr()
    assert isinstance(run("%concerto_trace"), CellFailed)
    told = "".join(capsys.readouterr())
    assert "cannot read" in told and "Traceback" not in told
    assert run("%%concerto\n2 + 2") is None and run("%concerto_trace") is None
    assert "4\n" in capsys.readouterr().out


def test_the_text_of_a_stream_is_shown_as_it_comes(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a script that lets time pass between the pieces; the clock of offline runs jumps."""
    import sys

    written: list[str] = []
    assert run("%concerto --offline") is None and run("%%concerto\nmodel M { provider: offline }") is None
    monkeypatch.setattr(sys.stdout, "write", lambda text: written.append(text) or len(text))
    assert run('%%concerto\nM.stream("good day to you")?') is None
    monkeypatch.undo()
    pieces = [text for text in written if text.strip()]
    assert pieces[:5] == ["offline: ", "good ", "day ", "to ", "you"]


def test_what_a_run_waits_for_outside_runs_beside_a_loop(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    """A session that is not offline has an event loop of its own, in another thread than the notebook's."""
    import asyncio

    async def cells() -> None:
        assert run("%concerto") is None
        assert run('%%concerto\nmodel M { provider: openai, base: "m" }\nstd::time::sleep(1);\nM.execute("x").is_err()') is None

    asyncio.run(cells())
    assert capsys.readouterr().out.startswith("true\n")


@pytest.mark.parametrize("flags", ["--offline", ""])
def test_an_interrupt_ends_the_run_and_not_the_session(run: Run, capsys: pytest.CaptureFixture[str], flags: str) -> None:
    assert run(f"%concerto {flags}") is None and run("%%concerto\nlet a = 1;") is None

    def later() -> None:
        time.sleep(0.5)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    threading.Thread(target=later, daemon=True).start()
    assert isinstance(run("%%concerto\nloop { }"), KeyboardInterrupt)
    assert run("%%concerto\na") is None and capsys.readouterr().out.endswith("1\n")


def test_the_trace_is_of_the_last_run(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("%concerto --offline") is None
    assert isinstance(run("%concerto_trace"), CellFailed)
    assert run(f'{DESK}\nsort("first")?;') is None and run('%%concerto\nsort("second")?;') is None
    capsys.readouterr()
    assert run("%concerto_trace") is None
    told = capsys.readouterr().out
    assert "user: Sort second" in told and "first" not in told.partition("reply")[0].replace("the first", "")


def test_the_table_and_the_page_escape_what_they_hold(run: Run) -> None:
    from concerto.notebook.magics import ConcertoMagics
    from concerto.notebook.shown import CallTable, TracePage

    assert run("%concerto --offline") is None
    assert run('%%concerto\nmodel M { provider: openai, base: "<b>&" }\nM.execute("</script><script>alert(1)")?;') is None
    magics = InteractiveShell.instance().magics_manager.registry["ConcertoMagics"]
    assert isinstance(magics, ConcertoMagics) and magics._cells is not None and magics._cells.recording is not None
    table = CallTable(magics._cells.recording)._repr_html_()
    assert "&lt;b&gt;&amp;" in table and "<b>" not in table
    page = TracePage(magics._cells.recording)._repr_html_()
    assert page.startswith("<iframe sandbox") and page.count("<") == 2 and "alert(1)" in page


def test_a_cell_that_is_refused_leaves_no_recording_open(
    run: Run, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from concerto.cli import dialogue
    from concerto.runtime.errors import ConfigFailure

    journals = []

    def refuse(program: Any, host: Any, earlier: Any) -> Any:
        journals.append(host.journal)
        raise ConfigFailure("E4005", "no such key")

    assert run("%concerto --offline") is None
    monkeypatch.setattr(dialogue, "Session", refuse)
    assert isinstance(run("%%concerto\n1"), CellFailed) and "E4005: no such key" in capsys.readouterr().out
    assert [journal.sink._file for journal in journals] == [-1]
