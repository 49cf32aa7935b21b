"""The page of `concerto trace --html` (O-9.80): what is in it, and what it does in a browser, where there is one."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from concerto.cli.main import main
from concerto.cli.trace_page import FOLDER, data_text, template
from concerto.cli.view import Pages, Server
from concerto.runtime.journal.rows import EffectRow, EmitRow, EndRow

from ..recordings import HOSTILE, call, many, message, recorded, small

HERE = Path(__file__).resolve().parent
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
in_browser = pytest.mark.skipif(
    CHROMIUM is None or shutil.which("node") is None or not (HERE / "node_modules").is_dir(),
    reason="needs Chromium, node and npm's packages (make servers)",
)
SOON = 30.0  # seconds in which a page of 100,000 rows is there, on a machine with much else to do


def page_of(path: Path, rows: Iterable[Any], **changed: Any) -> Path:
    """Write a recording, and the page of it."""
    file = recorded(path / "run.jsonl", rows, **changed)
    assert main(["trace", str(file), "--html", str(path / "page.html")]) == 0
    return path / "page.html"


def look(page: Path, commands: list[list[str]], scheme: str = "light", width: int = 1280) -> list[Any]:
    """Do what the commands say in Chromium, and return what each gives. The page must ask for nothing and complain of nothing."""
    words = ["node", str(HERE / "look.mjs"), str(CHROMIUM), str(page), scheme, str(width)]
    done = subprocess.run(words, input=json.dumps(commands).encode(), capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    told = json.loads(done.stdout)
    assert told["messages"] == [] and told["requests"] == [f"file://{page}"]
    given: list[Any] = told["given"]
    return given


# ---------------------------------------------------------------- without a browser


def test_the_page_is_small_and_loads_nothing() -> None:
    """Under 400 KB without data; nothing in it names another place."""
    text = "".join(template())
    assert len(text.encode()) < 400_000
    assert not re.search(r"""(?:src|href|action|url\(|import)\s*[=(]?\s*["']?(?:https?:|//|\w+\.\w)""", text)
    assert not [word for word in ("http", "fetch(", "innerHTML", "eval(") if word in text.replace("http-equiv", "")]
    assert {path.name for path in Path(FOLDER).iterdir()} == {"trace.html", "trace.css", "trace.js", "follow.js"}


def test_nothing_of_the_data_can_be_markup(tmp_path: Path) -> None:
    page = page_of(tmp_path, hostile(), program=HOSTILE[0]).read_text(encoding="utf-8")
    bodies = re.findall(r"<script type=\"application/json\" id=\"\w+\">(.*?)</script>", page, re.S)
    assert len(bodies) == page.count("<script") - 1 == page.count("</script>") - 1
    for body in bodies:
        assert not set("<>&\u2028\u2029") & set(body)
        json.loads(body)
    assert json.loads(data_text({"a": "</script>", "b": "\ud800<"})) == {"a": "</script>", "b": "\ud800<"}
    assert data_text([float("nan")]) == "[null]"


def test_what_requests_share_is_in_the_page_once(tmp_path: Path) -> None:
    talk = [message("user", f"message number {n} " * 10) for n in range(50)]
    tools = [{"name": "T__m", "description": "a long description " * 20, "schema": {}}]
    rows = [call(f"0:{n}/1", f"A-{n}.1", talk[: n + 1], "x", tools=tools) for n in range(50)]
    page = page_of(tmp_path, rows).read_text(encoding="utf-8")
    assert page.count('"message number 0 ') == page.count('"T__m"') == 1


def test_a_page_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = recorded(tmp_path / "run.jsonl", small())
    assert main(["trace", str(file), "--html", str(tmp_path / "none" / "page.html")]) == 1
    assert "cannot write" in capsys.readouterr().err
    (tmp_path / "page.html").write_text("before")
    file.write_bytes(file.read_bytes().replace(b"order", b"other"))
    assert main(["trace", str(file), "--html", str(tmp_path / "page.html")]) == 74
    assert (tmp_path / "page.html").read_text() == "before" and len(list(tmp_path.iterdir())) == 2


def hostile() -> list[Any]:
    rows: list[Any] = []
    for n, text in enumerate(HOSTILE):
        asked = [message("user", text, calls=[{"id": text, "name": text, "arguments": {text: text}}])]
        rows.append(call(f"0:{n}/{text}", f"{text}.1", asked, text, model=text, calls=[[text, text, {text: text}, text]]))
        rows.append(call(f"0:{n}/2", f"{text}.1", asked, failure={"kind": text, "variant": text, "message": text}, model=text))
        rows.append(EmitRow(text, {text: text}, False, 1.0))
        rows.append(EffectRow(f"{text}:1", text, "once", "", {"a": text}, "", result=text, t_start=1.0, t_end=2.0))
    return [*rows, EndRow("error", HOSTILE[0], HOSTILE[1], None, 3.0)]


# ---------------------------------------------------------------- in a browser

FOUND = "document.getElementById('found').textContent"
FOCUS = "document.activeElement.id"
CHOSEN = "document.querySelector('.row[aria-selected=true]').textContent"
DETAIL = "document.getElementById('detail').textContent"
DRAWN = """(() => {
    const canvas = document.getElementById('canvas'), seen = new Set();
    const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255) seen.add([...data.slice(i, i + 3)].join());
    return ['164,14,38', '5,80,174', '122,91,0'].map(colour => seen.has(colour));
})()"""
WIDE = """[document.documentElement.scrollWidth <= innerWidth, ...['detail', 'list'].map(id => {
    const box = document.getElementById(id);
    return box.scrollWidth <= box.clientWidth;
})]"""
PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
SEARCHED = "document.documentElement.dataset.searched === 'done'"


def chosen(kind: str, then: str) -> str:
    """What chooses the rows that are shown, and gives something afterwards."""
    change = f"const show = document.getElementById('show'); show.value = '{kind}'; show.dispatchEvent(new Event('change'))"
    return f"(() => {{ {change}; return {then}; }})()"


@in_browser
def test_a_call_in_the_browser(tmp_path: Path) -> None:
    page = page_of(tmp_path, small())
    given = look(page, [
        ["evaluate", FOUND], ["evaluate", "document.getElementById('about').textContent"],
        ["press", "j"], ["press", "j"], ["evaluate", CHOSEN],
        ["evaluate", "[...document.querySelectorAll('#detail ins, #detail del')].map(e => [e.tagName, e.textContent])"],
        ["evaluate", "[...document.querySelectorAll('#detail h3')].map(e => e.textContent)"],
        ["evaluate", "[...document.querySelectorAll('#sums td')].slice(0, 6).map(e => e.textContent)"],
        ["evaluate", chosen("failed", "[...document.querySelectorAll('.row')].map(e => e.querySelector('.what').textContent)")],
        ["evaluate", chosen("rows", FOUND)], ["evaluate", DRAWN],
    ])  # fmt: skip
    assert given[0] == "14 of 20 rows"
    assert "panic[P003]: division by zero" in given[1] and "without an outcome: 0:6/Shop.1" in given[1]
    assert "schema attempt 2" in given[4]
    why = "\n\nYour previous reply was not accepted:\n- $: not valid JSON"
    assert given[5] == [["INS", why], ["DEL", "Sure!"], ["INS", '{"count": 2}']]
    assert given[6] == ["Request, against row 2", "Reply, against row 2"]
    assert given[7] == ["5", "1", "1", "1", "50", "8"]
    assert len(given[8]) == 2 and given[8][1] == "panic[P003]: division by zero"
    assert given[9] == "20 rows"
    assert given[10] == [True, True, True]  # a failure, a call and a wait are drawn


@in_browser
def test_no_text_of_the_data_runs(tmp_path: Path) -> None:
    page = page_of(tmp_path, hostile(), program=HOSTILE[0])
    steps = [command for _ in range(4 * len(HOSTILE)) for command in (["press", "j"], ["evaluate", f"{DETAIL}.length"])]
    opened = "document.querySelectorAll('#detail details').forEach(d => d.open = true)"
    told = "[document.title, document.querySelectorAll('img, script:not([type])').length]"
    given = look(page, [*steps, ["evaluate", opened], ["evaluate", told]])
    title, count = given[-1]
    assert title.startswith("Run 0123456789abcdef of </script><script>") and count == 1
    assert all(size for size in given[1:-2:2])


@in_browser
def test_a_hundred_thousand_rows(tmp_path: Path) -> None:
    """First paint, the last row, search, the keyboard alone, names of controls, and what axe-core finds: nothing."""
    page = page_of(tmp_path, many(100_000))
    for scheme in ("light", "dark"):
        large(page, scheme)


def large(page: Path, scheme: str) -> None:
    last = (
        "new Promise(done => { const list = document.getElementById('list'); list.scrollTop = list.scrollHeight;"
        " requestAnimationFrame(() => requestAnimationFrame(() => done("
        "Math.max(...[...document.querySelectorAll('.row')].map(row => +row.id.slice(4)))))) })"
    )
    given = look(page, [
        ["evaluate", f"[+document.documentElement.dataset.ready, {PAINT}]"],
        ["evaluate", "document.querySelectorAll('.row').length"],
        ["evaluate", last],
        ["press", "G"], ["evaluate", CHOSEN],
        ["press", "k"], ["press", "k"], ["evaluate", CHOSEN],
        ["press", "/"], ["evaluate", FOCUS], ["type", "refund Bicycle chair"], ["wait", SEARCHED],
        ["wait", f"{FOUND}.includes(' of ')"], ["evaluate", FOUND],
        ["press", "Enter"], ["evaluate", FOCUS], ["press", "g"], ["press", "j"], ["evaluate", CHOSEN],
        ["press", "Enter"], ["evaluate", FOCUS], ["evaluate", f"{DETAIL}.toLowerCase().includes('refund bicycle chair')"],
        ["press", "Escape"], ["evaluate", FOCUS], ["press", "/"], ["press", "Escape"], ["wait", f"{FOUND}.startsWith('100,000')"],
        ["evaluate", FOCUS],
        ["axe"], ["names"],
    ], scheme)  # fmt: skip
    ready, paint = given[0]
    print(f"{scheme}: first paint {paint:.0f} ms, list {ready:.0f} ms")
    assert paint < SOON * 1000 and ready < SOON * 1000
    assert 0 < given[1] < 100
    assert given[2] == 99_999
    assert "ended well" in given[4] and "ended well" not in given[7]
    assert given[9] == "search"
    assert re.fullmatch(r"[\d,]+ of 100,000 rows", given[13]) and not given[13].startswith("0 ")
    assert given[15] == "list" and given[20] == "detail" and given[21] is True
    assert given[23] == "list" and given[27] == "list"
    assert given[28] == []
    nameless = [role for role, name in given[29] if not name.strip()]
    assert nameless == [] and len(given[29]) > 15


@in_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [480, 1280])
def test_nothing_runs_over(tmp_path: Path, scheme: str, width: int) -> None:
    """A call with marked differences, in two widths and two schemes: nothing is wider than the page, axe-core finds nothing."""
    page = page_of(tmp_path, small())
    given = look(page, [["press", "j"], ["press", "j"], ["evaluate", WIDE], ["axe"]], scheme, width)
    assert given[2] == [True, True, True] and given[3] == []


BY_PROGRAM = """\
memory chat { retain: 2 }
model M { provider: openai, base: "m", memory: chat }
fn main() {
    M.execute("one")?;
    let a_line_that_is_wider_than_the_column_of_a_page_on_a_telephone = M.execute("two <b>&amp;</b> </script>")?.text;
    emit("a", a_line_that_is_wider_than_the_column_of_a_page_on_a_telephone);
}
"""


@in_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 480])
def test_the_source_and_the_memory_of_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheme: str, width: int
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.conc").write_text(BY_PROGRAM)
    assert main(["run", "p.conc", "--offline", "--record", "p.effects.jsonl"]) == 0
    assert main(["trace", "p.effects.jsonl", "--program", "p.conc", "--html", "p.html"]) == 0
    text = "document.getElementById('detail').textContent"
    marked = "document.querySelector('.source mark').textContent"
    given = look(tmp_path / "p.html", [
        ["press", "j"], ["evaluate", marked], ["evaluate", text], ["evaluate", WIDE], ["axe"],
    ], scheme, width)  # fmt: skip
    assert given[1] == f"    5  {BY_PROGRAM.splitlines()[4]}\n"
    assert "Source, p.conc:5" in given[2] and "memory chat keeps messages 2, 3 as turn 1" in given[2]
    assert "memory chat lets go of messages 0, 1 (retain)" in given[2]
    assert given[3] == [True, True, True] and given[4] == []


@in_browser
def test_a_page_that_is_served_follows_the_run(tmp_path: Path) -> None:
    """What comes is shown at the row that was read, or at the end where the last row was."""
    whole = recorded(tmp_path / "whole.jsonl", many(40)).read_bytes()
    path = tmp_path / "run.jsonl"
    path.write_bytes(b"".join(whole.splitlines(keepends=True)[:21]))
    titles, count = "document.getElementById('detail-title').textContent", "document.getElementById('found').textContent"
    at_end = [["press", "G"], ["evaluate", titles], ["wait", f"{count} === '40 rows'"], ["evaluate", titles]]
    within = [["press", "j"], ["evaluate", titles], ["wait", f"{count} === '40 rows'"], ["evaluate", titles], ["axe"]]
    for commands, first, then in ((at_end, "Row 20", "Row 40"), (within, "Row 2", "Row 2")):
        path.write_bytes(b"".join(whole.splitlines(keepends=True)[:21]))
        with Server(0, Pages(str(path), None, str(tmp_path))) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            show = ["evaluate", "document.getElementById('show').value = 'rows', choose(), 1"]
            words = ["node", str(HERE / "look.mjs"), str(CHROMIUM), server.address, "light", "1280"]
            grows = threading.Timer(4, path.write_bytes, (whole,))
            grows.start()
            done = subprocess.run(words, input=json.dumps([show, *commands]).encode(), capture_output=True, timeout=300)
            server.shutdown()
        assert done.returncode == 0, done.stderr.decode()
        told = json.loads(done.stdout)
        assert told["messages"] == [] and all(request.startswith(server.address) for request in told["requests"])
        given = told["given"]
        assert given[2].startswith(first) and given[4].startswith(then), given
        assert given[5:] in ([], [[]])


def screenshots() -> None:
    """Write the pictures of the guide: `python -m tests.page.test_in_chromium`."""
    import tempfile

    target = HERE.parent.parent / "docs" / "generated"
    for name, rows, scheme, keys in (("attempts", small(), "light", "jj"), ("lanes", many(100_000), "dark", "Gkkkkk")):
        with tempfile.TemporaryDirectory() as folder:
            page = page_of(Path(folder), rows)
            look(page, [*(["press", key] for key in keys), ["screenshot", str(target / f"trace-{name}.png")]], scheme)


if __name__ == "__main__":
    screenshots()
