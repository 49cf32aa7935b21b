"""What a request tells its provider of the prompt cache: which part of it to keep for the next one (O-1.220, O-1.222).

Hands on `CallCache` and `may_be_kept` to calls, which put its plans into requests, and `lifetime_of` to their settings; providers
write plans on their wires (`providers/anthropic.py` as marks, `providers/openai.py` as a name). Hands on `PromptCaches`, how
requests began, to the Python API and the host, which share one among the sessions of a process, and to the services of calls. A
plan changes no message. To write into a cache costs more than to send the same part without one, so a part that changes with
every request, such as a window that moves on by a turn, is not marked.
"""

from __future__ import annotations

from _thread import allocate_lock

from ..vm.providers import MARKS, NAME
from .records import LONG, SHORT, CachePlan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from .calls.settings import CallSettings
    from .memory.conversation import Conversation
    from .records import Msg, ToolDef

# Code points: no provider caches less than 512 tokens (Anthropic's newest models; others 1,024 and more), and two code points are
# the least that a token has on the average of any text that people write.
LEAST = 1024
MOST_SEEN = 1000  # conversations whose last request is remembered


class PromptCaches:
    """How the last request of each conversation, and of each model, began. Sessions of one process share it. Of a message it
    keeps no text, only a digest."""

    __slots__ = ("_seen", "_lock")

    def __init__(self) -> None:
        self._seen: dict[Hashable, tuple[int, int, bool]] = {}
        self._lock = allocate_lock()

    def begins_as_before(self, key: Hashable, messages: Sequence[Msg]) -> bool:
        """Note what a request of `key` begins with, and return whether it is likely that the next one begins with the same.

        It is not when this one did not begin with what the one before it had, and that one was no better: one change is a
        summary or a window with a low mark, two in a row are a window that moves with each turn."""
        digest = _digest(messages)
        with self._lock:
            count, before, was_new = self._seen.pop(key, (0, _digest(()), False))
            is_new = len(messages) < count or before != (digest if len(messages) == count else _digest(messages[:count]))
            self._seen[key] = len(messages), digest, is_new
            if len(self._seen) > MOST_SEEN:
                del self._seen[next(iter(self._seen))]
        return not (is_new and was_new)


def _digest(messages: Sequence[Msg]) -> int:
    """Return a number that differs for other messages, almost always: a mark in the wrong place costs a little, and nothing
    else."""
    return hash(tuple([(message.role, message.content, message.call_id, len(message.media)) for message in messages]))


def lifetime_of(settings: CallSettings) -> str:
    """Return how long the provider is asked to keep what the calls of a model begin with, "" where nothing is said (O-1.220).

    Who writes nothing gets what costs nothing: marks where the provider has marks, a name at the provider's own address, since
    another server may not know it."""
    connection, wanted = settings.connection, settings.cache_prompt
    row = connection.row
    if wanted is None:
        wanted = row.prompt_cache == MARKS or (row.prompt_cache == NAME and connection.base_url == row.base_url is not None)
    if not wanted or (not row.prompt_cache and row.wires):
        return ""
    return LONG if wanted == LONG else SHORT


def conversation_key(conversation: Conversation) -> Hashable:
    """Return what two calls on the same conversation have in common. Memories of a session have it for themselves, those that
    others may write have it together."""
    memories = [(each.memory, each.view) for each in conversation.attached]
    return tuple([(memory.name, memory.key if memory.shared else id(memory), view) for memory, view in memories])


class CallCache:
    """The prompt cache of one call. `system` and `history`: whether the next call of the model begins with the same system
    message, and the next one of the conversation with the same messages before the prompt. `head` are these messages, the system
    message first; `conversation` is None for a call without memories."""

    __slots__ = ("system", "history")

    def __init__(
        self, caches: PromptCaches, settings: CallSettings, conversation: Conversation | None, head: Sequence[Msg]
    ) -> None:
        self.system = self.history = False
        if settings.connection.row.prompt_cache == NAME:  # a name says nothing of places
            return
        system = [message for message in head[:1] if message.role == "system"]
        model = (settings.connection.name, settings.connection.base_url, settings.model, settings.name)
        self.system = bool(system) and caches.begins_as_before(model, system)
        if conversation is not None:
            self.history = caches.begins_as_before((model, conversation_key(conversation)), head)

    def plan(
        self, settings: CallSettings, messages: Sequence[Msg], asked: int, is_stored: bool, tools: Sequence[ToolDef]
    ) -> CachePlan:
        """Return what a request of the call says that `may_be_kept`. `asked` is the place of the prompt among the messages, from
        0 on; `is_stored` says that a memory will have the prompt as the request has it."""
        connection = settings.connection
        marked = messages[:1] if self.system else []
        if self.history and asked > len(marked):
            marked = [*marked, messages[asked - 1]]
        if asked < len(messages) - 1:  # tool rounds: the next request repeats all of this one
            marked = [*marked, messages[-1]]
        elif self.history and is_stored:
            marked = [*marked, messages[asked]]
        named = connection.row.prompt_cache == NAME
        system = messages[0].content if messages[0].role == "system" else ""
        names = [*(tool["type"] for tool in settings.hosted), *(tool.name for tool in tools)]
        name = cache_name(settings.model, system, tuple(names)) if named else ""
        return CachePlan(marked, bool(tools), settings.cache_lifetime, settings.cache_prompt is not None, name)


def may_be_kept(length: int, tools: Sequence[ToolDef]) -> bool:
    """Return whether a provider may keep what a request begins with, and not find it too short. `length` is the sum of
    `Msg.length` over its messages."""
    if length >= LEAST:
        return True
    return bool(tools) and length + sum([len(tool.description) + len(str(tool.schema)) for tool in tools]) >= LEAST


def cache_name(model: str, system: str, tools: tuple[str, ...]) -> str:
    """Return the name for requests to a model with this system message and tools of these names: 32 hexadecimal digits that tell
    nothing of them."""
    from hashlib import sha256

    text = "\0".join([model, system, *tools])
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
