"""Values to rows (G-13.7): one flat table addressed by number, so that what is shared stays shared.

Hands on `Writer`, to `snapshot/machine.py`, `snapshot/value_forms.py` and `runtime/session/state.py`: `put` writes a value and
returns its form, `place` returns the form of one that was written, `sealed` returns the bytes. The form of a scalar or short
String is itself, `[]` that of the Option None, `[n]` that of the value in row n. What a row of each kind has is for `kinds.py`,
the head of the bytes for `envelope.py`; nothing is read here, and no file written. The order of rows follows from the values
alone, so equal states have equal bytes.
"""

from __future__ import annotations

from ..interp.tasks import DONE
from ..values import NONE
from .envelope import SnapshotError, identity_of, layout_of, seal
from .kinds import KINDS, kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..interp.link import Program
    from ..interp.linked import Code
    from ..interp.tasks import Task
    from ..values import Cell, Stream
    from .envelope import Heads, Secrets


SHORT = 32  # code points: longer Strings have rows, since many places may hold one
_SCALARS = frozenset({int, float, bool, type(None)})
_TEXT, _WITH_SECRETS = KINDS[:2]


class Writer:
    """The rows of one snapshot, in the making. In Strings of the program names stand for secrets; `clean` removes secrets from
    names (G-10.3). `head` returns store and version of a memory. Objects are known by their identity, so the machine must not run
    before `sealed` has returned.

    `put`, `function`, `type_number`, `task_row`, `stream_key` and `sealed` raise SnapshotError: V008 for what no snapshot can
    hold, such as a task that runs or a function of an earlier program; `sealed` also V001 for more bytes than a snapshot may
    have, and ImageError as `identity_of`."""

    def __init__(self, program: Program, secrets: Secrets, head: Heads) -> None:
        self.program = program
        self.layout = layout_of(program)
        self.secrets = secrets
        self.clean = secrets.clean
        self.head = head
        self.rows: list[list[Any]] = []
        self._places: dict[int, int] = {}  # rows of values by identity
        self._texts: dict[str, int] = {}
        self._kept: list[Any] = []  # what has a place lives as long as its number is used
        self._cells: dict[int, int] = {}
        self._cell_list: list[Cell] = []
        self._tasks: dict[int, int] = {}
        self._task_list: list[Task] = []

    def put(self, value: Any) -> Any:
        """Return the form of a value that may not have been written yet; what it holds is written first."""
        pending = [value]
        while pending:
            top = pending[-1]
            if self._has_place(top):
                pending.pop()
                continue
            if type(top) is str:
                pending.pop()
                self._put_text(top)
                continue
            kind = kind_of(top)
            missing = [part for part in kind.parts(top) if not self._has_place(part)]
            if missing:
                missing.reverse()
                pending += missing
                continue
            pending.pop()
            self._places[id(top)] = len(self.rows)
            self._kept.append(top)
            self.rows.append([kind.number, *kind.lower(self, top)])
        return self.place(value)

    def _put_text(self, text: str) -> None:
        parts = self.secrets.parts_of(text)
        self._texts[text] = len(self.rows)
        self.rows.append([_TEXT.number, text] if len(parts) == 1 else [_WITH_SECRETS.number, parts])

    def _has_place(self, value: Any) -> bool:
        kind = type(value)
        if kind is str:
            return value in self._texts or (len(value) <= SHORT and len(self.secrets.parts_of(value)) == 1)
        return kind in _SCALARS or value is NONE or id(value) in self._places

    def place(self, value: Any) -> Any:
        """Return the form of a value that was written; a String without a row of its own stands there as it is. Raises KeyError
        for any other value that was not written."""
        kind = type(value)
        if kind in _SCALARS:
            return value
        if kind is str:
            return [self._texts[value]] if value in self._texts else value
        return [] if value is NONE else [self._places[id(value)]]

    def function(self, code: Code) -> int:
        """Return the number of a function of the program."""
        if code.home is not self.program:
            raise SnapshotError("V008", f"the function {code.label} belongs to an earlier program; call one of this program")
        return code.number

    def type_number(self, cls: Any, value: Any) -> int:
        """Return the number of the class of a struct or the type of an enum; `value` is for the message."""
        number = self.layout.numbers.get(id(cls))
        if number is None:
            raise SnapshotError("V008", f"the type {value.type_name} belongs to an earlier program; make the value anew")
        return number

    def cell(self, cell: Cell) -> int:
        """Return the number of a cell. What cells hold is written last, since it may lead back to them."""
        return _number(self._cells, self._cell_list, cell)

    def task(self, task: Task) -> int:
        """Return the number of a task. Its row is written last, since it may lead to other tasks."""
        return _number(self._tasks, self._task_list, task)

    def stream_key(self, stream: Stream) -> str:
        """Return the key of the effect that began a reply which has not ended; only a run has one, else SnapshotError."""
        raise SnapshotError("V008", f"a reply of {stream.name} is on its way; read the stream to its end first")

    def sealed(self, what: str, roots: Any) -> bytes:
        """Return the bytes of a snapshot of kind `what`; `roots` are plain data in which values stand in the forms that `put`
        returned. Writes the cells and tasks first, and then nothing more may be put."""
        return seal(what, identity_of(self.program), self.body(roots))

    def body(self, roots: Any) -> list[Any]:
        """Return what `sealed` makes bytes of, as plain data; raises as `put`."""
        cells: list[Any] = []
        tasks: list[Any] = []
        while len(cells) < len(self._cell_list) or len(tasks) < len(self._task_list):
            if len(cells) < len(self._cell_list):
                cells.append(self.put(self._cell_list[len(cells)].value))
            else:
                tasks.append(self.task_row(self._task_list[len(tasks)]))
        return [self.rows, cells, tasks, roots]

    def task_row(self, task: Task) -> list[Any]:
        """Return the row of a task that is over: what its handle needs."""
        if task.status is not DONE:
            raise SnapshotError("V008", f"the task {task.code.label} runs; wait for its end first")
        return [self.function(task.code), task.cancelled, self.put(None if task.cancelled else task.result)]


def _number(numbers: dict[int, int], order: list[Any], one: Any) -> int:
    number = numbers.get(id(one))
    if number is None:
        number = numbers[id(one)] = len(order)
        order.append(one)
    return number
