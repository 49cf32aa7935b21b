"""Reads the object that a reply is while its text arrives, in time linear in the text, however small its pieces are (O-2.72).

Hands on `GrowingObject` to `partial_values.py`. It takes what `extraction.py` takes of a reply as far as that can be told from
its beginning: text before the object, fences, thoughts in tags, comments, keys without quotes, commas before a bracket. What it
cannot read ends what is shown, and nothing else: whether a reply is accepted, `acceptance.py` says at its end.
"""

from __future__ import annotations

import re
from json import JSONDecodeError, JSONDecoder, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BEGIN = re.compile(r"<(think|thinking|thought|reasoning)\b[^>]*>|\{", re.IGNORECASE)
_SPACE = re.compile(r"(?:\s+|//[^\n]*\n|/\*.*?\*/)+", re.DOTALL)
_RUN = {'"': re.compile(r'[^"\\]+'), "'": re.compile(r"[^'\\]+")}
_WORD = re.compile(r"[\w$.+-]+")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\", '"': '"', "'": "'"}
_WORDS: dict[str, Any] = {"true": True, "false": False, "null": None, "True": True, "False": False, "None": None}
LONGEST_TAG = 80  # code points that a tag may be cut off in
DEEPEST = 200
MOST_ATTEMPTS = 4  # to read one element at once
LONGEST_WORD = 12  # code points that a word, a number or an escape may be cut off in
LONGEST_NAME = 1_000  # code points of a word or a number that goes on; a longer one cannot be read
COMMENT_ENDS = {"//": "\n", "/*": "*/"}
KEY, COLON, VALUE, COMMA = "key", "colon", "value", "comma"  # what comes next


def _refuse_constant(word: str) -> Any:
    raise ValueError(word)  # NaN and the infinities


_SCANNER = JSONDecoder(parse_constant=_refuse_constant, strict=False)


class GrowingObject:
    """The members of an object whose text arrives. `members` has by their names the values of those that are whole, and the lists
    and objects that have begun, with what has come of them in the same way; `growing` is the name of the last one while it goes
    on. One that is a text is in `text` alone until it is whole (`grows_as_text`). `version` grows when such a text begins and
    with each piece of it, with each member, and each element or entry of a member, that is whole, and with the end; not when a
    list or object begins, nor with what is deeper. `is_whole`: the object has ended."""

    __slots__ = (
        "members", "growing", "version", "is_whole", "_buffer", "_thought", "_stack", "_state", "_pieces", "_quote", "_is_dead",
        "_attempts", "_comment_end",
    )  # fmt: skip

    def __init__(self) -> None:
        self.members: dict[str, Any] = {}
        self.growing: str | None = None
        self.version = 0
        self.is_whole = False
        self._buffer = ""
        self._thought = ""
        self._stack: list[tuple[Any, str | None]] = []  # open lists and objects, each with its key in the one around it
        self._state = KEY
        self._pieces: list[str] | None = None  # of a text that goes on
        self._quote = ""
        self._is_dead = False
        self._attempts = 0
        self._comment_end = ""  # of a comment that goes on

    @property
    def text(self) -> str:
        """What has come of the text that is being read: with `grows_as_text` of the member `growing`, else of a key or of a text
        inside a member. Empty where none is."""
        if not self._pieces:
            return ""
        self._pieces[:] = ["".join(self._pieces)]  # so that the next one joins two
        return self._pieces[0]

    @property
    def grows_as_text(self) -> bool:
        """Whether the member that goes on is a text."""
        return self._pieces is not None and self._state == VALUE and len(self._stack) == 1

    @property
    def open_parts(self) -> int:
        """1 when the last element or entry that `members` has of the list or object `growing` is a list or object that goes on
        itself, else 0."""
        return int(len(self._stack) > 2)

    def feed(self, text: str) -> None:
        """Take the next text of the reply. Behind the end of the object, and behind what cannot be read of it, it changes
        nothing."""
        if self._is_dead or self.is_whole:
            return
        self._buffer += text
        at = 0
        while True:
            step = self._step(at)
            if step < 0:
                break
            at = step
            if self.is_whole:
                break
        self._buffer = "" if self._is_dead or self.is_whole else self._buffer[self._kept(at) :]

    def _step(self, at: int) -> int:
        """Read on at a place and return the place behind what was read; -1 when nothing more can be read yet."""
        if self._pieces is not None:
            return self._string(at)
        if self._comment_end:
            return self._comment(at)
        return self._token(at) if self._stack else self._begin(at)

    def _kept(self, at: int) -> int:
        """Return from where on the text is still wanted."""
        if self._stack or self._pieces is not None:
            return at
        return max(at, len(self._buffer) - LONGEST_TAG)  # of what stands before the object only a tag that is cut off

    def _begin(self, at: int) -> int:
        """Look for the beginning of the object: return the place behind it, or behind a thought; -1 when it has not come."""
        if self._thought:
            end = re.compile(f"</{self._thought}>", re.IGNORECASE).search(self._buffer, at)
            if end is None:
                return -1
            self._thought = ""
            return end.end()
        found = _BEGIN.search(self._buffer, at)
        if found is None:
            return -1
        if found[1]:
            self._thought = found[1]
            return found.end()
        self._stack.append((self.members, None))
        self._state = KEY
        return found.end()

    def _token(self, at: int) -> int:
        """Read the token or the space at a place and return the place behind it; -1 when a token is not whole."""
        space = _SPACE.match(self._buffer, at)
        if space is not None:
            return space.end()
        if at >= len(self._buffer):
            return -1
        sign = self._buffer[at]
        if sign == "/":
            mark = self._buffer[at : at + 2]
            if mark == "/":
                return -1
            self._comment_end = COMMENT_ENDS.get(mark, "")
            return at + 2 if self._comment_end else self._refuse(at)
        container, _ = self._stack[-1]
        is_object = isinstance(container, dict)
        state = self._state
        if sign in "}]":
            if (sign == "}") is not is_object or state in (COLON,) or (is_object and state == VALUE):
                return self._refuse(at)
            self._close()
            return at + 1
        if state == COMMA:
            if sign != ",":
                return self._refuse(at)
            self._state = KEY if is_object else VALUE
            return at + 1
        if state == COLON:
            if sign != ":":
                return self._refuse(at)
            self._state = VALUE
            return at + 1
        if state == VALUE and len(self._stack) == 2 and sign in '{["':
            end = self._element(at)
            if end:
                return end
            self._attempts = 0
        if sign in "\"'":
            self._pieces, self._quote = [], sign
            if state == VALUE and len(self._stack) == 1:
                self.version += 1
            return at + 1
        if sign in "{[":
            if state == KEY or len(self._stack) >= DEEPEST:
                return self._refuse(at)
            fresh: Any = {} if sign == "{" else []
            self._put(fresh)
            self._stack.append((fresh, None))
            self._state = KEY if sign == "{" else VALUE
            return at + 1
        word = _WORD.match(self._buffer, at)
        if word is None:
            return self._refuse(at)
        if word.end() == len(self._buffer):
            return -1 if word.end() - at <= LONGEST_NAME else self._refuse(at)
        return self._word(word[0], at, word.end())

    def _comment(self, at: int) -> int:
        """Pass over a comment that goes on; return the place behind what is known of it, -1 when nothing new is."""
        end = self._buffer.find(self._comment_end, at)
        if end < 0:
            rest = len(self._buffer) - len(self._comment_end) + 1
            return rest if rest > at else -1
        at = end + len(self._comment_end)
        self._comment_end = ""
        return at

    def _element(self, at: int) -> int:
        """Read an element or entry at once when it has come whole: return the place behind it, -1 while it goes on, and 0 for one
        that is no plain JSON, or so long that to begin again with each chunk would cost more than to read it sign by sign."""
        try:
            value, end = _SCANNER.raw_decode(self._buffer, at)
        except JSONDecodeError as error:
            is_cut = error.msg.startswith("Unterminated") or error.pos >= len(self._buffer) - LONGEST_WORD
            if not is_cut or self._attempts == MOST_ATTEMPTS:
                return 0
            self._attempts += 1
            return -1
        except (ValueError, RecursionError):
            return 0
        self._attempts = 0
        if "\\u" in self._buffer[at:end]:  # halves of signs are for `_escape`
            return 0
        self._put(value)
        self._finish()
        return int(end)

    def _word(self, word: str, at: int, end: int) -> int:
        if self._state == KEY:
            return self._key(word, end)
        try:
            value = _WORDS[word] if word in _WORDS else loads(word, parse_constant=_refuse_constant)
        except ValueError:
            return self._refuse(at)
        self._put(value)
        self._finish()
        return end

    def _string(self, at: int) -> int:
        """Read on in a text; return the place behind what is whole, -1 when nothing more is."""
        assert self._pieces is not None
        buffer = self._buffer
        run = _RUN[self._quote].match(buffer, at)
        if run is not None:
            self._pieces.append(run[0])
            self._grew()
            return run.end()
        if at >= len(buffer):
            return -1
        if buffer[at] == self._quote:
            whole = "".join(self._pieces)
            self._pieces = None
            if self._state == KEY:
                return self._key(whole, at + 1)
            self._put(whole)
            self._finish()
            return at + 1
        return self._escape(at)

    def _escape(self, at: int) -> int:
        buffer, pieces = self._buffer, self._pieces
        assert pieces is not None
        mark = buffer[at + 1 : at + 2]
        if mark != "u":
            if not mark:
                return -1
            if mark not in _ESCAPES:
                return self._refuse(at)
            pieces.append(_ESCAPES[mark])
            self._grew()
            return at + 2
        digits = buffer[at + 2 : at + 6]
        if len(digits) < 4:
            return -1
        try:
            code = int(digits, 16)
        except ValueError:
            return self._refuse(at)
        if 0xD800 <= code < 0xDC00:  # the first half of a sign
            if len(buffer) < at + 12:
                return -1
            try:
                second = int(buffer[at + 8 : at + 12], 16) if buffer[at + 6 : at + 8] == "\\u" else 0
            except ValueError:
                second = 0
            if not 0xDC00 <= second < 0xE000:
                return self._refuse(at)
            pieces.append(chr(0x10000 + ((code - 0xD800) << 10) + second - 0xDC00))
            self._grew()
            return at + 12
        if 0xDC00 <= code < 0xE000:
            return self._refuse(at)
        pieces.append(chr(code))
        self._grew()
        return at + 6

    def _refuse(self, at: int) -> int:
        """Return where the reading goes on behind what is no JSON: where nothing of the object was read, it was none, and another
        one may begin there; else nowhere."""
        if self.members or self.growing is not None:
            self._is_dead = True
            return -1
        self._stack.clear()
        self._pieces = None
        return at if self._buffer[at] == "{" else at + 1

    def _grew(self) -> None:
        if len(self._stack) == 1 and self._state == VALUE:
            self.version += 1

    def _key(self, name: str, end: int) -> int:
        container, _ = self._stack[-1]
        self._stack[-1] = (container, name)
        if len(self._stack) == 1:
            self.growing = name
            self.members.pop(name, None)  # of two members of one name the last one counts
        self._state = COLON
        return end

    def _put(self, value: Any) -> None:
        """Put a value, which may be an open list or object, into the innermost open one."""
        container, key = self._stack[-1]
        if isinstance(container, dict):
            container[key] = value
        else:
            container.append(value)
        self._state = COMMA

    def _finish(self) -> None:
        """Note that a value is whole."""
        depth = len(self._stack)
        if depth == 1:
            self.growing = None
        if depth <= 2:
            self.version += 1
        self._state = COMMA

    def _close(self) -> None:
        self._stack.pop()
        if not self._stack:
            self.growing = None
            self.version += 1
            self.is_whole = True
            return
        self._finish()
