"""What is rewritten before it is stored (M-4.4): the redactor `Pii` and the functions of a declaration, over the texts of a
message; and the same rewriting of older content before it goes to a model (M-8.27).

Hands on for what is stored `redacted` (messages) to `changes.py` and `redacted_json` (facts) to `remembering.py`; for what was
stored under another redaction `Shown` to `reader.py` and `summaries.py`, `redaction_note` to `changes.py` and `json_shown` to
`remembering.py`; `pii` to `from_image.py`, `SecretFilter` and `KeptTexts` to `policy.py`. A *redactor* is a function that takes a
text and returns it rewritten, the same for the same text. One that fails raises MemoryFailure("Redaction"), and nothing is stored
or sent. Nothing here is written, but for what a policy keeps of rewritten texts. What `Pii` looks for are the patterns below.
"""

from __future__ import annotations

import re

from ...vm.record import record
from ..media import MediaPart
from ..records import Call, Msg
from .entries import Entry, ViewState, count_with
from .failures import MemoryFailure, redaction_failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from .keys import Key
    from .log import Source
    from .policy import Policy


# Addresses with nothing between them are one match. Only the begin of a run of word characters is looked at: to try the others
# would take time quadratic in a long run.
EMAIL = re.compile(r"(?<![\w.+%-])(?:[\w.+%-]++@[\w-]++(?:\.[\w-]++)++)++")
API_KEY = re.compile(r"\b(?:sk|pk|rk|xox[abprs]|gh[opsu]|glpat|AKIA|AIza)[-_]?[A-Za-z0-9_-]{14,}")
IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")
SHORTEST_IBAN = 8  # characters behind country and check digits
CARD = re.compile(r"(?<![\w.])\d(?:[ -]?\d){12,18}(?![\w.]?\d)")
PHONE = re.compile(r"(?<![\w.])(?:\+|00)?\(?\d(?:[ ()/.-]{0,2}\d){6,14}(?![\w.]?\d)")
DATE_OR_VERSION = re.compile(r"\d{4}-\d\d-\d\d(?:\D.*)?|\d+(?:\.\d+)+")


@record
class SecretFilter:
    """A redactor that is no function of a program: it removes the secrets of the configuration from what goes to a store, by
    `clean`, which returns a text without them. Two of one `clean` are equal."""

    clean: Callable[[str], str]

    def __call__(self, text: str) -> str:
        return self.clean(text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SecretFilter) and self.clean == other.clean

    def __hash__(self) -> int:
        return hash(self.clean)


def pii(text: str) -> str:
    """Return the text with e-mail addresses, API keys, IBANs, card and phone numbers replaced by `[redacted:KIND]`."""
    text = EMAIL.sub(lambda match: "[redacted:email]" * match[0].count("@"), text)
    text = API_KEY.sub("[redacted:api_key]", text)
    # Before cards and phones, whose patterns would match the digits of an IBAN.
    text = _without_ibans(text)
    text = CARD.sub(_card, text)
    return PHONE.sub(_phone, text)


def _without_ibans(text: str) -> str:
    pieces, copied, at = [], 0, 0  # `copied`: up to where the text is in the pieces
    while (match := IBAN.search(text, at)) is not None:
        length = _iban_length(match[0])
        at = match.start() + (length or 1)
        if length:
            pieces += [text[copied : match.start()], "[redacted:iban]"]
            copied = at
    return "".join([*pieces, text[copied:]])


def _iban_length(text: str) -> int:
    """Return how many characters of a match of IBAN are one whose check digits fit (ISO 13616: the number with its first four
    characters moved to its end is 1 modulo 97), 0 for none. Capitalised words behind a number look like groups of it, so it may
    end at any space."""
    head, number, count, length = 0, 0, 0, 0
    for character in text[:4]:
        head = _appended(head, character)
    for at, character in enumerate(f"{text} "[4:], 4):
        if character != " ":
            number, count = _appended(number, character), count + 1
        elif count >= SHORTEST_IBAN and (number * 1_000_000 + head) % 97 == 1:
            length = at
    return length


def _appended(number: int, character: str) -> int:
    """Return a number with a digit, or the two of a letter, behind it, modulo 97."""
    value = int(character, 36)
    return (number * (10 if value < 10 else 100) + value) % 97


def _card(match: re.Match[str]) -> str:
    """Replace only a number whose check digit (Luhn's algorithm) makes it a card number."""
    total = 0
    for at, digit in enumerate(reversed([int(character) for character in match[0] if character.isdigit()])):
        doubled = digit * 2 if at % 2 else digit
        total += doubled - 9 if doubled > 9 else doubled
    return "[redacted:card]" if total % 10 == 0 else match[0]


def _phone(match: re.Match[str]) -> str:
    """Replace a phone number. A bare row of digits is a number, a date or a version, unless it is written as phone
    numbers are."""
    text = match[0]
    written_so = text.startswith(("+", "00", "(")) or (text.startswith("0") and len(text) > 8) or text.count("-") == 2
    if not written_so or DATE_OR_VERSION.fullmatch(text):
        return text
    return "[redacted:phone]"


def redacted(message: Msg, redactors: Sequence[Callable[[str], str]]) -> Msg:
    """Return a copy of the message with its text, the arguments of its calls and the names of its media rewritten: of
    arguments the values, not the names of fields. The state of a provider goes where it could hold what was rewritten
    (M-5.25). Raises MemoryFailure("Redaction"), also for a link that would be rewritten."""
    try:
        content = _clean(message.content, redactors)
        calls = tuple(_clean_call(call, redactors) for call in message.calls)
        media = tuple([_clean_media(part, redactors) for part in message.media])
    except Exception as error:
        raise redaction_failed(str(error) or type(error).__name__) from None
    state = message.state
    if state is not None and not _stays(message, content, calls, redactors):
        state = None
    return Msg(message.role, content, calls, message.call_id, message.is_error, state, media)


def _stays(message: Msg, content: str, calls: Sequence[Call], redactors: Sequence[Callable[[str], str]]) -> bool:
    """Return whether the state that a provider wants back may stay with a message (M-5.25). It repeats the text, and no
    function of a program may read it: it goes when anything was rewritten, and where such a function redacts."""
    if message.state is None or not all(one is pii or type(one) is SecretFilter for one in redactors):
        return False
    same = content == message.content and [call.as_json() for call in calls] == [call.as_json() for call in message.calls]
    return same and _clean_json(message.state.content, redactors) == message.state.content


def _clean(text: str, redactors: Sequence[Callable[[str], str]]) -> str:
    for redactor in redactors:
        text = redactor(text)
        if not isinstance(text, str):
            raise TypeError(f"it gave {type(text).__name__} instead of String")
    return text


def _clean_media(part: MediaPart, redactors: Sequence[Callable[[str], str]]) -> MediaPart:
    """Return the media under a rewritten name; its content stays. A link that would be rewritten leads nowhere: ValueError."""
    url = part.content.url
    if url is not None and _clean(url, redactors) != url:
        raise ValueError("the address of a link holds what is not stored")
    name = None if part.name is None or url is not None else _clean(part.name, redactors)
    return part if url is not None or name == part.name else MediaPart(part.content, name, part.tokens)


def _clean_call(call: Call, redactors: Sequence[Callable[[str], str]]) -> Call:
    """Return the call with arguments rewritten. The text of arguments that are an object only repeats them, and goes when
    they change."""
    if call.arguments is None:
        return Call(call.id, call.name, None, _clean(call.text, redactors) if call.text else call.text)
    arguments = _clean_json(call.arguments, redactors)
    return Call(call.id, call.name, arguments, call.text if arguments == call.arguments else "")


def _clean_json(value: Any, redactors: Sequence[Callable[[str], str]]) -> Any:
    if isinstance(value, str):
        return _clean(value, redactors)
    if isinstance(value, list):
        return [_clean_json(item, redactors) for item in value]
    if isinstance(value, dict):
        return {name: _clean_json(item, redactors) for name, item in value.items()}
    return value


def redacted_json(value: Any, redactors: Sequence[Callable[[str], str]]) -> Any:
    """Return a copy of a JSON value, such as the content of a fact, with every text in it rewritten, but no name of a field
    (M-4.4). Raises MemoryFailure("Redaction")."""
    try:
        return _clean_json(value, redactors)
    except Exception as error:
        raise redaction_failed(str(error) or type(error).__name__) from None


# What was stored under another redaction goes through the redactors of now before it goes to a model (M-8.27). A key notes, among
# its views, from which entry on entries are written under which redaction; older entries, older summaries and all recalled facts
# are rewritten when they are shown, each once as long as the declaration keeps the result.

MARK = ":redaction"
"""The name of that note, which no view can have: `text` names the redaction, `cut` is the first entry written under it."""
KEPT_TEXTS = 4_096
"""The newest rewritten texts that a declaration keeps at least."""


class KeptTexts:
    """What came of rewriting texts for models, by the place of each: the newest KEPT_TEXTS at least, and all that the view before
    has had, however many (M-8.27). Of a view that is larger than a fixed room the oldest texts would be dropped just before the
    next view asks for them.

    They are in two generations. What is looked up or rewritten is in the newer one; when that is full at the beginning of a view
    it becomes the older one, whose texts are dropped unless they are looked up again."""

    __slots__ = ("_newer", "_older")

    def __init__(self) -> None:
        self._newer: dict[Any, Any] = {}
        self._older: dict[Any, Any] = {}

    def begin(self) -> None:
        """Note that a view, or the text of a fact, is looked at from now on."""
        if len(self._newer) >= KEPT_TEXTS:
            self._newer, self._older = {}, self._newer

    def at(self, place: Any) -> Any:
        """Return what is kept at a place, None for nothing."""
        kept = self._newer.get(place)
        if kept is None and (kept := self._older.get(place)) is not None:
            self._newer[place] = kept
        return kept

    def keep(self, place: Any, value: Any) -> None:
        """Keep what came of the text at a place, in place of what is there."""
        self._newer[place] = value


def kept_texts(policy: Policy) -> KeptTexts:
    """Return the rewritten texts of a policy, which gets an empty collection at the first call."""
    if policy.shown is None:
        policy.shown = KeptTexts()
    return policy.shown


def redaction_text(redactors: Sequence[Callable[[str], str]]) -> str:
    """Return a text by which two redactions are told apart: the names of the redactors, of a function of a program the hash of
    its code."""
    return " ".join(str(getattr(one, "mark", None) or getattr(one, "__name__", type(one).__name__)) for one in redactors)


def redaction_note(policy: Policy, states: Mapping[str, ViewState], first: int, at: int) -> list[ViewState]:
    """Return the note that a commit stores among the views of its key, as a list of one; empty when the policy redacts nothing,
    and when `states`, the stored states of views, have that note already. `first` is the number of the first entry of the commit,
    `at` its time in Unix ms."""
    if not policy.redact:
        return []
    redaction = redaction_text(policy.redact)
    mark = states.get(MARK)
    return [] if mark is not None and mark.text == redaction else [ViewState(MARK, first, redaction, folded_at=at)]


class Shown:
    """The entries and summaries that a key holds, as they may go to a model under the redaction of `policy` (M-8.27): what was
    stored since it was last taken up stays as it is, all that is older is rewritten. `states` are the stored states of the key's
    views, among which is the note of the redaction; `mark` is that note, None where the newest note is of another redaction, or
    there is none."""

    __slots__ = ("policy", "key", "mark", "_kept")

    def __init__(self, policy: Policy, key: Key, states: Mapping[str, ViewState]) -> None:
        self.policy = policy
        self.key = key
        self._kept = kept_texts(policy)
        self._kept.begin()
        mark = states.get(MARK)
        self.mark = mark if mark is not None and mark.text == redaction_text(policy.redact) else None

    def entry(self, entry: Entry) -> Entry:
        """Return the entry as it may go to a model. Raises MemoryFailure("Redaction")."""
        if self.mark is not None and entry.seq >= self.mark.cut:
            return entry
        place, original = (self.key, entry.seq), _shown_of(entry)
        cached = self._kept.at(place)
        if cached is None or cached[0] != original:  # another entry may have come under the number, with `load`
            message = _shown(lambda: redacted(entry.message, self.policy.redact))
            same = message.as_json() == entry.message.as_json()
            tokens = entry.tokens if same else count_with(self.policy.counter, message, entry.by or "")
            cached = (original, message, tokens)
            self._kept.keep(place, cached)
        return entry.showing(cached[1], cached[2])

    def state(self, state: ViewState) -> ViewState:
        """Return the state of a view with its summary rewritten, if that is older than the redaction. Raises
        MemoryFailure("Redaction")."""
        if not state.text or (self.mark is not None and state.folded_at > self.mark.folded_at):
            return state
        text = json_shown(self.policy, state.text)
        return ViewState(state.name, state.cut, text, state.upto, state.folded, state.folded_at)

    def log(self, source: Source) -> Source:
        """Return the log with entries as they may go to a model; what reads them raises MemoryFailure("Redaction")."""
        return _Log(source, self)


def json_shown(policy: Policy, value: Any) -> Any:
    """Return a text, or the name or content of a fact, as it may go to a model. The policy keeps the result, since a redactor
    returns the same for the same text. Raises MemoryFailure("Redaction")."""
    if not policy.redact:
        return value
    from json import dumps

    place, kept = dumps(value, ensure_ascii=False), kept_texts(policy)
    kept.begin()
    cached = kept.at(place)
    if cached is None:
        cached = (_shown(lambda: redacted_json(value, policy.redact)),)
        kept.keep(place, cached)
    return cached[0]


def _shown_of(entry: Entry) -> Any:
    """Return all of an entry that goes into what is shown of it."""
    state = entry.message.state
    carried = None if state is None else (state.connection, state.wire, state.model, state.content)
    return entry.message.as_json(), entry.by, entry.tokens, carried


def _shown(rewritten: Callable[[], Any]) -> Any:
    """Return what `rewritten` returns. Raises the MemoryFailure that it raises, with a message which says that nothing was sent:
    here a text goes to a model, where the same failure in a commit says that nothing was stored."""
    try:
        return rewritten()
    except MemoryFailure as failure:
        message = str(failure.message).replace("nothing was stored", "nothing was sent")
        raise MemoryFailure(str(failure.variant), message) from None


class _Log:
    """A snapshot of a log whose older entries are shown as they may go to a model."""

    __slots__ = ("_source", "_shown", "length")

    def __init__(self, source: Source, shown: Shown) -> None:
        self._source = source
        self._shown = shown
        self.length = source.length

    def pins(self) -> list[Entry]:
        return [self._shown.entry(entry) for entry in self._source.pins()]

    def back(self) -> Iterator[Entry]:
        return map(self._shown.entry, self._source.back())

    def newest(self, limit: int) -> list[Entry]:
        return [self._shown.entry(entry) for entry in self._source.newest(limit)]
