"""The plugin of pytest, which pytest finds by its entry point: `@test` functions of .conc files as tests (P-2.5), and recordings
of what a test's session asks of the world (O-9.77).

    def test_triage(concerto_recording):
        with program.session(**concerto_recording) as session:
            assert session.call("triage", "My invoice is wrong.") == "billing"

Hands on to pytest the fixture `concerto_recording`, the options `--concerto-online` and `--concerto-record`, and the hook
`pytest_concerto_options`. Every run of pytest imports this module, so it imports nothing that a project without .conc files does
not need: what a .conc file holds is found in `pytest_items.py`. What a recording is stands in `runtime/journal/`; pytest is there
wherever this is imported.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .options import Options
    from .pytest_items import SourceFile


class Hooks:
    """What a conftest may say about the tests of .conc files."""

    @pytest.hookspec(firstresult=True)
    def pytest_concerto_options(self, path: Path, config: pytest.Config) -> Options | None:
        """Return the options of the sessions of the tests in a file, as those of `Program.test`. Without `offline` they are
        offline unless `--concerto-online` is given, and without `permissions` they have those of the project's manifest. None:
        this conftest says nothing about the file."""


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Let a conftest have the hook of `Hooks`."""
    pluginmanager.add_hookspecs(Hooks)


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the options of the plugin."""
    # pytest rewrites the asserts of every distribution that has a plugin: for ours that would be two seconds of each run.
    marked: set[str] = getattr(pluginmanager.rewrite_hook, "_must_rewrite", set())
    marked.discard(__name__.partition(".")[0])
    group = parser.getgroup("concerto")
    online = "let models that tests of .conc files neither mock nor script be asked, with the keys of the environment"
    group.addoption("--concerto-online", action="store_true", help=online)
    record = "record the sessions of `concerto_recording` anew"
    group.addoption("--concerto-record", action="store_true", help=record)


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> SourceFile | None:
    """Return what collects the tests of a .conc file; None for another file, and for one without tests that nobody named."""
    if file_path.suffix != ".conc" or not (parent.session.isinitpath(file_path) or _mentions_tests(file_path)):
        return None
    from .pytest_items import SourceFile

    return SourceFile.from_parent(parent, path=file_path)


def _mentions_tests(path: Path) -> bool:
    """Return whether a file may hold tests: most of a program's files do not, and are not compiled for that."""
    try:
        return b"@test" in path.read_bytes()
    except OSError:
        return True  # whoever reads it next says why it cannot be read


@pytest.fixture
def concerto_recording(request: pytest.FixtureRequest) -> dict[str, Path]:
    """Return the options for one session of a test: `replay` with the recording in the folder `recordings` beside the test, or
    `record` where there is none, or `--concerto-record` asks for a new one."""
    file = request.path
    within = [node.name for node in request.node.listchain() if isinstance(node, pytest.Class)]  # two may have tests of one name
    name = re.sub(r"[^\w.-]+", "_", ".".join([*within, request.node.name]))
    path = file.parent / "recordings" / f"{file.stem}.{name}.effects.jsonl"
    if request.config.getoption("--concerto-record"):
        path.unlink(missing_ok=True)
    if path.exists():
        return {"replay": path}
    path.parent.mkdir(exist_ok=True)
    return {"record": path}
