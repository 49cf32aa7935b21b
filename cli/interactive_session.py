"""The session behind `concerto repl`: each entry is a program of its own; memories, metrics and values go on into the next.

Must not know: prompts, source text.
"""

from __future__ import annotations

from typing import NamedTuple

from ..compiler.interactive import FUNCTION
from ..runtime.session import Session
from ..vm.load import load_image
from ..vm.values import Err, debug, display
from .run import host_of, limits_of, run_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from typing import Any

    from ..compiler.interactive import Entry
    from ..runtime.session import Outcome


class Ended(NamedTuple):
    """How an entry ended: the debug form of its value, or its error or panic."""

    shown: str | None = None
    error: str | None = None
    panic: str | None = None
    trace: Any = ()


class InteractiveSession:
    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.host = host_of(arguments)
        self.classes: dict[Any, Any] = {}
        self.session: Session | None = None
        self.values: dict[str, Any] = {}

    def run(self, entry: Entry, given: list[str]) -> Ended:
        """Run the function of an entry with the variables named; its variables are kept when it ends well."""
        from ..runtime.errors import ConfigFailure

        assert entry.compilation.image is not None, "the caller has looked for errors"
        try:
            session = Session(load_image(entry.compilation.image, self.classes), self.host, earlier=self.session)
        except ConfigFailure as failure:
            return Ended(panic=f"{failure.code}: {failure.message}")
        function = next(code.number for code in session.program.codes if code.label == FUNCTION)
        given_values = [self.values[name] for name in given]
        outcome = run_session(session, **limits_of(self.arguments), function=function, arguments=given_values)
        self.session = session
        return self._ended(entry, outcome, session.redactor.clean)

    def _ended(self, entry: Entry, outcome: Outcome, clean: Callable[[str], str]) -> Ended:
        if outcome.panic is not None:
            return Ended(panic=clean(str(outcome.panic)), trace=outcome.panic.trace)
        if type(outcome.value) is Err:
            return Ended(error=clean(display(outcome.error)), trace=outcome.trace)
        value, *rest = outcome.value.value.items
        self.values = dict(zip((v.name for v in entry.variables), rest, strict=True))
        return Ended(shown=None if value is None else clean(debug(value)))
