"""The notebook of the examples, executed in a real kernel (P-2.6)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed: pip install nbclient ipykernel")
pytest.importorskip("ipykernel", reason="ipykernel is not installed: pip install nbclient ipykernel")
nbformat = pytest.importorskip("nbformat")

NOTEBOOK = Path(__file__).resolve().parents[2] / "examples" / "python" / "desk.ipynb"


def execute(notebook: Any, folder: Path, **options: Any) -> Any:
    place = {"metadata": {"path": str(folder)}}
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3", resources=place, **options).execute()
    return notebook


def outputs(cell: Any, kind: str) -> str:
    """What a cell shows as text of a kind: of streams, or in a MIME type."""
    shown = [one.get("text", "") if kind == "stream" else one.get("data", {}).get(kind, "") for one in cell.outputs]
    return "".join(shown)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_notebook_of_the_examples(tmp_path: Path) -> None:
    notebook = execute(nbformat.read(NOTEBOOK, 4), tmp_path)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    _, declared, sorted_, kept, streamed, traced = code
    assert declared.outputs == []
    assert outputs(sorted_, "stream") == '[emit:kind] bug\nTicket {title: "", kind: "bug"}\n'
    assert "<th>tokens in</th>" in outputs(sorted_, "text/html") and "gpt-5.4-mini" in outputs(sorted_, "text/plain")
    assert outputs(kept, "stream") == "2\n"
    assert outputs(streamed, "stream").startswith("offline: Say in three words")
    assert "srcdoc=" in outputs(traced, "text/html") and "user: Say in three words" in outputs(traced, "text/plain")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_wrong_cell_stops_the_notebook(tmp_path: Path) -> None:
    """Its output is the diagnostic, coloured, without a trace of Python."""
    cells = ["%load_ext concerto.notebook\n%concerto --offline", "%%concerto\nnmae", "%%concerto\n1"]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text) for text in cells])
    with pytest.raises(nbclient.exceptions.CellExecutionError):
        execute(notebook, tmp_path)
    (output,) = notebook.cells[1].outputs
    assert output.output_type == "error" and output.ename == "CellFailed"
    text = "\n".join(output.traceback)
    assert "cell[2]:1:1" in text and "^^^^" in text and "\x1b[" in text and "File" not in text
    assert notebook.cells[2].outputs == []
