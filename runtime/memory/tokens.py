"""How many tokens a message counts (M-11): the default counter, and a host counter where there is one.

The default needs no tokenizer: 4 + a quarter of the UTF-8 bytes, rounded up, so that JSON, arguments and scripts other than
Latin weigh what they really send. Must not know: logs, budgets.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ..records import Call, Msg

    TokenCounter = Callable[[Msg, str], int]
    """A message and the name of the model or agent, empty for none."""

MESSAGE_TOKENS = 4
BYTES_PER_TOKEN = 4
CALL_ID_BYTES = 8
BLOB_TOKENS = 1024


def text_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def tokens_of_bytes(count: int) -> int:
    return MESSAGE_TOKENS - (-count // BYTES_PER_TOKEN)


def count_text(text: str) -> int:
    """A text counts like a message that holds only it."""
    return tokens_of_bytes(text_bytes(text))


def count_message(message: Msg, blobs: int = 0) -> int:
    """The default counter (M-11.2); `blobs` binary parts come on top."""
    held = text_bytes(message.content)
    for call in message.calls:
        held += text_bytes(call.name) + text_bytes(arguments_text(call)) + CALL_ID_BYTES
    if message.call_id is not None:
        held += CALL_ID_BYTES
    return tokens_of_bytes(held) + blobs * BLOB_TOKENS


def arguments_text(call: Call) -> str:
    """The arguments of a call as they are sent: compact JSON, or the text the model sent instead."""
    if call.arguments is None:
        return call.text
    from ..schema.json_text import compact_json

    return compact_json(call.arguments)


def count_with(counter: TokenCounter | None, message: Msg, by: str | None = None, blobs: int = 0) -> int:
    """The host's counter; where it gives nothing for a message that has content, the default holds (M-11.3)."""
    found = 0 if counter is None else counter(message, by or "")
    return found if found > 0 else count_message(message, blobs)


def total(messages: Iterable[Msg]) -> int:
    return sum(map(count_message, messages))


def longest_prefix(text: str, limit: int, suffix: str = "") -> str:
    """The longest prefix of `text` that with `suffix` counts at most `limit` tokens, never splitting a character."""
    room = (limit - MESSAGE_TOKENS) * BYTES_PER_TOKEN - text_bytes(suffix)
    if room <= 0:
        return ""
    if text.isascii():
        return text[:room]
    cut = text.encode("utf-8", "surrogatepass")[:room]
    while cut:  # at most three steps: a character has at most four bytes
        try:
            return cut.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            cut = cut[:-1]
    return ""
