"""Parts of an enum value that a pattern reads one after the other, as one assignment, which CPython does faster (V-7.2).

Each part goes through a hidden local into a variable of the pattern, perhaps with a mark as shared between; such reads of one
value become `l5, l6 = l3.payload`. Hands on `unpack_payloads` to `functions`, which has it rewrite the statements of a part
before they are printed. Values and marks stay what they are; how statements are laid out is for `text`.
"""

from __future__ import annotations

import re

from ..record import record
from .text import MARK, Branch, Compound, Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .text import Statement


def unpack_payloads(statements: list[Statement]) -> None:
    """Rewrite, in a tree, reads of several parts of an enum value into locals, each through the same hidden local, as one
    assignment to all of them, which CPython does faster."""
    for statement in statements:
        if isinstance(statement, Branch):
            unpack_payloads(statement.yes)
            unpack_payloads(statement.no)
        elif isinstance(statement, Compound):
            unpack_payloads(statement.body)
            unpack_payloads(statement.otherwise)
    at = 0
    while at < len(statements):
        reads = _reads(statements, at)
        if len(reads) > 1:
            value, _, size = reads[0].payload
            names = {read.payload[1]: read.name for read in reads}
            whole = ", ".join([names.get(position, "x") for position in range(size)])
            marking = [statement for read in reads for statement in read.marking]
            last = Store(reads[-1].slot, reads[-1].name)
            statements[at : reads[-1].end] = [f"{whole} = {value}.payload", *marking, last]
        at += 1


@record
class PayloadRead:
    """Statements up to `end`, an index of their block, that read a part of an enum value, `payload` as of a `Store`, through the
    local `slot` into the variable `name`. `marking`: those of them that mark it as shared, which name that variable now."""

    payload: tuple[str, int, int]
    slot: int
    name: str
    marking: list[Statement]
    end: int


def _reads(statements: list[Statement], at: int) -> list[PayloadRead]:
    """Return the reads of parts of one enum value that follow each other from the statement `at` on; none where they are less
    than half of its parts."""
    reads: list[PayloadRead] = []
    while True:
        read = _read(statements, reads[-1].end if reads else at)
        if read is None:
            break
        value, position, size = read.payload
        taken = {value, *[name for other in reads for name in (other.name, f"l{other.slot}")]}
        first = reads[0].payload if reads else read.payload
        if (first[0], first[2]) != (value, size) or read.name in taken or f"l{read.slot}" == value:
            break
        if any(other.payload[1] == position for other in reads):
            break
        reads.append(read)
    return reads if reads and 2 * len(reads) >= reads[0].payload[2] else []


def _read(statements: list[Statement], at: int) -> PayloadRead | None:
    """Return the read that begins with the statement `at`; None where there is no such."""
    store = statements[at] if at < len(statements) else None
    if not isinstance(store, Store) or store.payload is None:
        return None
    marking: list[Statement] = []
    for end, statement in enumerate(statements[at + 1 :], at + 2):
        name, _, text = statement.partition(" = ") if isinstance(statement, str) else ("", "", "")
        if text == f"l{store.slot}" and name.isidentifier():
            return PayloadRead(store.payload, store.slot, name, [_renamed(each, text, name) for each in marking], end)
        if not _marks(statement, f"l{store.slot}"):
            return None
        marking.append(statement)
    return None


def _marks(statement: Statement, name: str) -> bool:
    """Return whether a statement does nothing but mark what a variable has as shared."""
    if isinstance(statement, Branch):
        return all(_marks(each, name) for each in [*statement.yes, *statement.no]) and MARK not in statement.condition
    return statement in (f"{name}.shared = True", f"share({name})")


def _renamed(statement: Statement, name: str, other: str) -> Statement:
    """Return a statement that marks a variable, for another variable that has the same."""
    if isinstance(statement, Branch):
        renamed = Branch(re.sub(rf"\b{name}\b", other, statement.condition))
        renamed.yes += [_renamed(each, name, other) for each in statement.yes]
        renamed.no += [_renamed(each, name, other) for each in statement.no]
        return renamed
    return re.sub(rf"\b{name}\b", other, str(statement))
