"""`std::prompt`: templates and token estimates (L-7.9.3, L-7.9.4)."""

from __future__ import annotations

from ...values.display import display
from ...values.limits import check_string_size, join
from ...values.long_text import at_blanks
from ...values.metering import LARGE, STRIDE, look, spend
from ...values.numerals import WHITE_SPACE
from ..guards import table, text
from ..registry import std, std_prelude

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FORMS = (("${", "}"), ("{{", "}}"))


class Marker:
    """One form of placeholder: finds each from left to right, every character looked at once."""

    __slots__ = ("text", "opening", "closing", "start", "end")

    def __init__(self, source: str, opening: str, closing: str) -> None:
        self.text = source
        self.opening = opening
        self.closing = closing
        self.start = -1
        self.end = -1
        self.advance(0)

    def advance(self, position: int) -> None:
        """The first opening at or after `position` and the first closing behind it; a missing one is the text's end."""
        if self.start < position:
            self.start = self._find(self.opening, position)
        if self.end < self.start + len(self.opening):
            self.end = self._find(self.closing, self.start + len(self.opening))

    def _find(self, sign: str, position: int) -> int:
        found = self.text.find(sign, position)
        return len(self.text) if found < 0 else found


@std("prompt", "template(t: String, vars: Map<String, Any>) -> String", clause="L-7.9.3", linear=True)
def template(t: Any, variables: Any) -> str:
    """`${k}` and `{{k}}` replaced by the Display text of vars at k, in one pass; unknown ones stay."""
    if len(text(t)) >= LARGE:
        spend(len(t))
    if len(table(variables)) >= LARGE:
        spend(len(variables.items))
    known = {key: value for key, value in table(variables).items() if type(key) is str}
    lengths = set(map(len, known))
    markers = [Marker(t, *form) for form in FORMS]
    parts: list[str] = []
    size = done = at = pace = 0
    while True:
        pace += 1
        if pace % STRIDE == 0:
            look()
        for marker in markers:
            marker.advance(at)
        first = min(markers, key=lambda marker: marker.start)
        if first.start == len(t):
            return join("", [*parts, t[done:]])
        inside = first.start + 2
        at = first.start + 1
        # The length is asked first: a far closing sign must not cost a long slice for each opening.
        if first.end < len(t) and first.end - inside in lengths and t[inside : first.end] in known:
            parts += (t[done : first.start], display(known[t[inside : first.end]]))
            size += len(parts[-1])
            check_string_size(size)
            at = done = first.end + len(first.closing)


std_prelude(
    "prompt", "from_file(path: String, vars: Map<String, Any> = {}) -> Result<String, FsError>", clause="L-7.9.4",
    doc="The text of a file as a template filled with vars.",
    source="""
    match std::fs::read_file(path) {
        Ok(text) => Ok(std::prompt::template(text, vars)),
        Err(e) => Err(e),
    }
    """,
)  # fmt: skip


def words(s: str) -> int:
    """Runs of characters that are no Unicode white space."""
    if s.isascii():
        # Python's own notion has the four control characters 1C to 1F more.
        return len(s.translate(_NOT_BLANK).split())
    return len("".join(" " if c in WHITE_SPACE else "x" for c in s).split())


_NOT_BLANK = dict.fromkeys(range(28, 32), "x")


@std("prompt", 'count_tokens(text: String, model: String = "") -> Int', clause="L-7.9.4", linear=True)
def count_tokens(content: Any, model: Any) -> int:
    """An estimate of the tokens: words × 4/3, rounded up."""
    text(model)
    if len(text(content)) >= LARGE:
        spend(len(content))
    return -(-sum(map(words, at_blanks(content))) * 4 // 3)
