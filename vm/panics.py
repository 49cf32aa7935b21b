"""The panic codes and the exception that carries one (L-5.13, O-11, memory.md 2 and 6).

Hands on `Panic` to every part of the machine, to the runtime and the rooms above it and to the checker's constants, and the table
`PANICS` to documentation and tests. The machine fills in where a panic happened: whoever raises one gives code and text only. A
new code is a row of `PANICS`. Nothing is caught or printed here: the machine ends the run, and the host shows the panic.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Final


# code -> (title, clause that defines it)
PANICS: Final[dict[str, tuple[str, str]]] = {
    "P001": ("panic called", "L-5.13.2"),
    "P002": ("integer overflow", "L-5.13.3"),
    "P003": ("division by zero", "L-5.13.4"),
    "P004": ("index out of range", "L-5.13.5"),
    "P005": ("key not found", "L-5.13.6"),
    "P006": ("unwrap of an absent value", "L-5.13.7"),
    "P007": ("dynamic type mismatch", "L-5.13.8"),
    "P008": ("cast failed", "L-5.13.9"),
    "P009": ("no arm matches", "L-5.13.10"),
    "P010": ("array pattern of another length", "L-5.13.11"),
    "P011": ("assertion failed", "L-5.13.12"),
    "P012": ("call depth exceeded", "L-5.13.13"),
    "P013": ("argument outside the domain", "L-5.13.14"),
    "P014": ("no such member", "L-5.13.15"),
    "P015": ("not callable this way", "L-5.13.16"),
    "P101": ("step limit exceeded", "L-5.13.20"),
    "P102": ("time limit exceeded", "L-5.13.20"),
    "P103": ("size limit exceeded", "L-5.13.20"),
    "P401": ("token budget spent", "O-11.1"),
    "P402": ("cost budget spent", "O-11.1"),
    "P403": ("cost budget with an unpriced model", "O-11.1"),
    "P405": ("watcher chain too deep", "O-11.1"),
    "P406": ("replay differs from the effect file", "O-11.1"),
    "P407": ("permission denied", "O-11.1"),
    "P408": ("unknown message role", "O-11.1"),
    "P410": ("stream not ended", "O-11.1"),
    "P411": ("builder argument or method of the wrong kind", "O-11.1"),
    "P412": ("persistence file unreadable or not written", "O-11.1"),
    "P413": ("awaited task was cancelled", "O-11.1"),
    "P414": ("mock without a reply left", "O-11.1"),
    "P415": ("value behind Any does not fit", "O-11.1"),
    "P416": ("ledger limit exceeded", "O-11.1"),
    "P417": ("function of Python failed", "O-11.1"),
    "P418": ("function passed to Python called after its call", "O-11.1"),
    "P451": ("memory store failure", "M-6.23"),
    "P452": ("invalid key value, number or content", "M-6.23"),
    "P453": ("write to a fixed slot", "M-6.23"),
    "P454": ("needed slot gone", "M-6.23"),
}


class Panic(Exception):
    """A panic on its way out of the program; nothing in the language catches it (L-5.12.5). `code` is a key of PANICS, which
    nobody checks, and `message` what happened, as one line.

    `position` (file, line, column) and `trace` (function, file, line, column of each frame, innermost first) stay empty until the
    machine, which alone knows its frames, adds them; so does `locals`, per frame of the trace the names and values of its
    variables, where the machine keeps them. `inside`: trace and locals in a machine that ran a function for this one; they come
    first. `is_between`: it comes where no instruction was at work, so that its place is that of the next one.
    """

    __slots__ = ("code", "message", "position", "trace", "locals", "inside", "is_between")

    def __init__(self, code: str, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.position: Any = None
        self.trace: tuple[Any, ...] = ()
        self.locals: tuple[dict[str, Any], ...] = ()
        self.inside: tuple[tuple[Any, ...], tuple[dict[str, Any], ...]] = (), ()
        self.is_between = False

    def leave(self) -> None:
        """Move trace and locals to `inside` and clear the position, when the panic goes from the machine that placed it to the
        one that waits for it."""
        self.inside = self.trace, self.locals
        self.position, self.trace, self.locals, self.is_between = None, (), (), False

    def __str__(self) -> str:
        """Return the line that L-5.13.1 prescribes."""
        return f"panic[{self.code}]: {self.message}"
