"""Run Concerto programs from Python.

    import concerto

    program = concerto.compile(path="triage.conc")
    with program.session(offline=True) as session:
        session.on("progress", print)
        print(session.call("triage", "My invoice is wrong."))

Everything here is imported when it is first used: `import concerto` alone costs next to nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .host.calls import Call as Call
    from .host.compiling import compile as compile
    from .host.compiling import load as load
    from .host.errors import CompileError as CompileError
    from .host.errors import Diagnostic as Diagnostic
    from .host.errors import Frame as Frame
    from .host.errors import ImageError as ImageError
    from .host.errors import Panic as Panic
    from .host.errors import ProgramError as ProgramError
    from .host.errors import ToolError as ToolError
    from .host.options import Budgets as Budgets
    from .host.options import Buffered as Buffered
    from .host.options import Immediate as Immediate
    from .host.options import Permissions as Permissions
    from .host.options import SharedBudget as SharedBudget
    from .host.programs import Program as Program
    from .host.results import Emit as Emit
    from .host.results import Metrics as Metrics
    from .host.results import RunResult as RunResult
    from .host.running import arun as arun
    from .host.running import run as run
    from .host.sessions import Session as Session
    from .host.testing import TestReport as TestReport
    from .host.testing import TestResult as TestResult
    from .host.values import Enum as Enum
    from .host.values import Err as Err
    from .host.values import ErrorValue as ErrorValue
    from .host.values import Handle as Handle
    from .host.values import Ok as Ok
    from .host.values import Struct as Struct

__version__ = "0.1.0"

_HOMES = {
    "calls": "Call",
    "compiling": "compile load",
    "errors": "CompileError Diagnostic Frame ImageError Panic ProgramError ToolError",
    "options": "Budgets Buffered Immediate Permissions SharedBudget",
    "programs": "Program",
    "results": "Emit Metrics RunResult",
    "running": "arun run",
    "sessions": "Session",
    "testing": "TestReport TestResult",
    "values": "Enum Err ErrorValue Handle Ok Struct",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}
__all__ = [*_HOME_OF, "__version__"]


def __getattr__(name: str) -> object:
    """A public name, from the module that has it."""
    module = _HOME_OF.get(name)
    if module is None:
        raise AttributeError(f"module 'concerto' has no attribute {name!r}")
    from importlib import import_module

    found: object = getattr(import_module(f".host.{module}", __name__), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
