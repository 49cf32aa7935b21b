"""Rows to values, with every check that what a writer made would pass (G-13.9).

Hands on `Reader`, which has built all values when its constructor returns, and `WRONG`, to `snapshot/machine.py`,
`snapshot/value_forms.py` and `runtime/session/state.py`; `value` returns the value of a form. Any bytes give values of the closed
set or a SnapshotError. What a value is for is known to `snapshot/machine.py`; what a row of each kind has, to `kinds.py`.
"""

from __future__ import annotations

from ..interp.tasks import DONE, Task
from ..panics import Panic
from ..values import INT_MAX, INT_MIN, NONE, Cell
from .envelope import layout_of, misshapen, unseal
from .kinds import KINDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..interp.link import Program
    from ..interp.linked import Code
    from ..values import MemoryRef, Stream
    from .envelope import Secrets


# What Python says where a row is not what its kind has: too few fields, a list where a number stands, an unknown name. Whoever
# reads parts of a snapshot turns these into a SnapshotError.
WRONG = (TypeError, ValueError, LookupError, AttributeError, OverflowError, RecursionError, MemoryError, Panic)


class Reader:
    """The values of one snapshot: `data`, bytes of the kind `what` of this program, with the values that `secrets` has. `roots`:
    the plain data that the writer got. `memories`: the handles of memories with the versions that their logs had. `holes`:
    whether a struct may lack values of fields.

    The constructor raises SnapshotError. Each method takes a part of the roots or of a row, of which nothing is known, and
    returns what it stands for; it raises SnapshotError, or one of WRONG, such as IndexError for a number that is too large."""

    holes = False

    def __init__(self, program: Program, data: bytes, what: str, secrets: Secrets) -> None:
        self.take(program, unseal(data, what, program), what, secrets)

    def take(self, program: Program, body: Any, what: str, secrets: Secrets) -> None:
        """Build the values of a body, plain data of which nothing is known. Raises as the constructor."""
        self.program = program
        self.layout = layout_of(program)
        self.secrets = secrets
        rows, cells, tasks, self.roots = self._body(body, what)
        self._cells = [Cell() for _ in cells]
        self._tasks = [_ended_task(program) for _ in tasks]
        self._built: list[Any] = []
        self.memories: list[tuple[MemoryRef, int]] = []
        self.streams: dict[str, Stream] = {}  # that have not ended, by the keys of the effects that began them
        for number, row in enumerate(rows):
            try:
                self._built.append(KINDS[self.index(row[0])].build(self, *row[1:]))
            except WRONG:
                raise misshapen(f"row {number} of the {what} is malformed") from None
        for cell, form in zip(self._cells, cells, strict=True):
            cell.value = self.value(form)
        for task, row in zip(self._tasks, tasks, strict=True):
            try:
                self.end_task(task, *row)
            except WRONG:
                raise misshapen(f"a task of the {what} is malformed") from None

    def _body(self, body: Any, what: str) -> Any:
        if type(body) is not list or len(body) != 4 or any(type(table) is not list for table in body[:3]):
            raise misshapen(f"the {what} has not its tables")
        return body

    def end_task(self, task: Task, function: Any, cancelled: Any, result: Any) -> None:
        """Set in a task what its row says; a subclass also takes rows of tasks that run."""
        task.code = self.function(function)
        task.cancelled = self.flag(cancelled)
        task.result = self.value(result)

    # ------------------------------------------------------------ values

    def value(self, form: Any) -> Any:
        """Return the value of a form: scalars and short Strings are themselves, `[]` is None, `[n]` the value of row n, which
        stands before its users."""
        kind = type(form)
        if kind is str or kind is bool or kind is float or form is None:
            return form
        if kind is int:
            if INT_MIN <= form <= INT_MAX:
                return form
        elif kind is list:
            if not form:
                return NONE
            if len(form) == 1 and type(form[0]) is int and 0 <= form[0] < len(self._built):
                return self._built[form[0]]
        raise misshapen("a place that holds no value")

    def values(self, forms: Any) -> list[Any]:
        """Return the values of a list of forms, in order."""
        return list(map(self.value, self.list(forms)))

    # ------------------------------------------------------------ parts of rows

    def list(self, form: Any) -> list[Any]:
        if type(form) is not list:
            raise misshapen("a part that is no list")
        return form

    def text(self, form: Any) -> str:
        if type(form) is not str:
            raise misshapen("a part that is no text")
        return form

    def joined(self, parts: Any) -> str:
        """Return the String of an odd number of parts: texts and, between them, names of secrets."""
        texts = list(map(self.text, self.list(parts)))
        if len(texts) % 2 == 0:
            raise misshapen("a text that ends in a secret's name")
        return "".join(self.secrets.value(text) if at % 2 else text for at, text in enumerate(texts))

    def flag(self, form: Any) -> bool:
        if type(form) is not bool:
            raise misshapen("a part that is neither true nor false")
        return form

    def index(self, form: Any) -> int:
        """Return a number from 0; how large it may be is for the caller."""
        if type(form) is not int or form < 0:
            raise misshapen("a part that is no number of anything")
        return form

    def function(self, number: Any) -> Code:
        """Return the function of the program with this number."""
        return self.program.codes[self.index(number)]

    def cell(self, number: Any) -> Cell:
        """Return the cell with this number; its value is set once all rows are built."""
        return self._cells[self.index(number)]

    def task(self, number: Any) -> Task:
        """Return the task with this number; what its row says is set last (`end_task`)."""
        return self._tasks[self.index(number)]

    def stream_effect(self, key: Any) -> Any:
        """Return the effect that began a reply which has not ended; only the snapshot of a run has one."""
        raise misshapen("a reply that is on its way")

    def declared(self, kind: str, name: Any) -> str:
        """Return the name of a declaration of the program, checked for that kind of handle."""
        if self.text(name) not in self.layout.names[kind]:
            raise misshapen(f"the program declares no {name} as {kind}")
        return str(name)


def _ended_task(program: Program) -> Task:
    """Return a task that is over, with the result that its row has."""
    task = Task(0, "", None, program.codes[0], [], [], None, program.halt)
    task.status = DONE
    task.drop()
    return task
