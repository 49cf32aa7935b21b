"""A plugin of pytest: what a test's session asks of the world is recorded once and given again from then on (O-9.77).

    def test_triage(concerto_recording):
        with program.session(**concerto_recording) as session:
            assert session.call("triage", "My invoice is wrong.") == "billing"

Hands on the fixture `concerto_recording` and the option `--concerto-record` to tests whose conftest names this module in
`pytest_plugins`. What a recording is stands in `runtime/journal/`; pytest is there wherever this is imported.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--concerto-record`."""
    help = "record the sessions of `concerto_recording` anew"
    parser.getgroup("concerto").addoption("--concerto-record", action="store_true", help=help)


@pytest.fixture
def concerto_recording(request: pytest.FixtureRequest) -> dict[str, Path]:
    """Return the options for one session of a test: `replay` with the recording in the folder `recordings` beside the test, or
    `record` where there is none, or `--concerto-record` asks for a new one."""
    file = request.path
    name = re.sub(r"[^\w.-]+", "_", request.node.name)
    path = file.parent / "recordings" / f"{file.stem}.{name}.effects.jsonl"
    if request.config.getoption("--concerto-record"):
        path.unlink(missing_ok=True)
    if path.exists():
        return {"replay": path}
    path.parent.mkdir(exist_ok=True)
    return {"record": path}
