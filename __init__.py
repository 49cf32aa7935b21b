"""Run Concerto programs from Python.

    import concerto

    program = concerto.compile(path="triage.conc")
    with program.session(offline=True) as session:
        session.on("progress", print)
        print(session.call("triage", "My invoice is wrong."))

Each public name is imported from its module, mostly of `api/`, when it is first used: `import concerto` alone costs next to
nothing. A new public name is a word in `_HOMES`, and an import below for type checkers. What the names do is said in those
modules; nothing else of the package is meant for users. `__version__` is the version of the package, which `concerto
version` and the server for editors show.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .api.calls import Call as Call
    from .api.channels import Channel as Channel
    from .api.json_text import to_json as to_json
    from .api.media import Media as Media
    from .api.options import Browser as Browser
    from .api.options import Budgets as Budgets
    from .api.options import Buffered as Buffered
    from .api.options import Immediate as Immediate
    from .api.options import Permissions as Permissions
    from .api.options import SharedBudget as SharedBudget
    from .api.program import Program as Program
    from .api.program import arun as arun
    from .api.program import compile as compile
    from .api.program import load as load
    from .api.program import resume as resume
    from .api.program import resume_session as resume_session
    from .api.program import run as run
    from .api.pydantic_models import pydantic as pydantic
    from .api.python_modules import configure as configure
    from .api.recordings import idempotency_key as idempotency_key
    from .api.results import Breaker as Breaker
    from .api.results import CompileError as CompileError
    from .api.results import Diagnostic as Diagnostic
    from .api.results import Emit as Emit
    from .api.results import Frame as Frame
    from .api.results import ImageError as ImageError
    from .api.results import Metrics as Metrics
    from .api.results import Panic as Panic
    from .api.results import ProgramError as ProgramError
    from .api.results import RecordingError as RecordingError
    from .api.results import RunResult as RunResult
    from .api.results import TestReport as TestReport
    from .api.results import TestResult as TestResult
    from .api.results import ToolError as ToolError
    from .api.results import Wait as Wait
    from .api.session import Session as Session
    from .api.values import Enum as Enum
    from .api.values import Err as Err
    from .api.values import ErrorValue as ErrorValue
    from .api.values import Handle as Handle
    from .api.values import Ok as Ok
    from .api.values import Struct as Struct
    from .batches.batch import Batch as Batch
    from .batches.batch import BatchError as BatchError
    from .batches.batch import RowResult as RowResult
    from .batches.batch import batch as batch
    from .serve.asgi import asgi as asgi


__version__ = "0.1.0"

_HOMES = {
    "batches.batch": "Batch BatchError RowResult batch",
    "api.calls": "Call",
    "api.json_text": "to_json",
    "api.media": "Media",
    "api.options": "Browser Budgets Buffered Immediate Permissions SharedBudget",
    "api.channels": "Channel",
    "api.program": "Program arun compile load resume resume_session run",
    "api.recordings": "idempotency_key",
    "api.pydantic_models": "pydantic",
    "api.python_modules": "configure",
    "api.results": (
        "Breaker CompileError Diagnostic Emit Frame ImageError Metrics Panic ProgramError RecordingError RunResult "
        "TestReport TestResult ToolError Wait"
    ),
    "api.session": "Session",
    "api.values": "Enum Err ErrorValue Handle Ok Struct",
    "serve.asgi": "asgi",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}
__all__ = [*_HOME_OF, "__version__"]


def __getattr__(name: str) -> object:
    """Return what a public name stands for, from the module that `_HOMES` gives it, and keep it here. Raise
    AttributeError for any other name."""
    module = _HOME_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'concerto' has no attribute {name!r}")
    from importlib import import_module

    value: object = getattr(import_module(f".{module}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the names of this module, sorted, with the public ones that nobody has used yet."""
    return sorted({*globals(), *_HOME_OF})
