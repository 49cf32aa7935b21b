"""Whose code performs an effect, and what that may touch: the rights of libraries (P-3.5).

Hands on `acting`, by which `effects/table.py` gives a performer the run as the code behind the effect may use it, and to it also
`models_refused`, for calls of models; `declaring`, the same for what a declaration names (the process of an MCP server or an
agent), to those who start these; and `session_of`, the session behind such a view, to performers that keep something. The code
that executes the operation counts: a closure of the program that a library calls has the rights of the program, a function of a
library that the program calls has those of the library. What has no rights of its own, the functions of the standard library,
acts for whoever called it; a tool of the standard library that a model calls acts for those who called the model, and for the
library that declares the model; any other tool has the rights of its own code alone.
"""

from __future__ import annotations

from ...vm.bytecode.image import STANDARD
from ...vm.interp.effects import AgentCall, ModelCall
from ...vm.values import ItemStream, Stream
from .permissions import Access, Denied, Limited, deny, permissions_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...vm.interp.effects import Effect
    from ...vm.interp.linked import Code
    from ...vm.interp.tasks import Task
    from ..host import Host
    from ..running import EffectContext

# Sections whose entries an effect names in its payload, by kind: the section, and the attribute that has the name.
NAMED = {"model": ("models", "model"), "agent": ("agents", "agent"), "mcp": ("mcp", "server"), "store": ("hashmaps", "store")}
# What connects, starts or is written by its declaration alone, wherever it is used from.
BY_DECLARATION = ("agent", "mcp", "store")


class Acting:
    """A session as performers see it while code of `libraries`, names in order, acts: the permissions of its host are those that
    the run and all these libraries have. Everything else is the session's own."""

    def __init__(self, session: EffectContext, libraries: tuple[str, ...]) -> None:
        self.session = session
        self.libraries = libraries
        self.host: Any = _LimitedHost(session.host, Limited(permissions_of(session), libraries))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.session, name)


class _LimitedHost:
    """A host with other permissions."""

    def __init__(self, host: Host, permissions: Limited) -> None:
        object.__setattr__(self, "_host", host)
        object.__setattr__(self, "permissions", permissions)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._host, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._host, name, value)


def session_of(run: EffectContext) -> Any:
    """Return the session behind a view, for what is kept in its state and must not keep the rights of one effect."""
    return run.session if isinstance(run, Acting) else run


def acting(session: EffectContext, effect: Effect) -> Any:
    """Return the session, or the view of it for the code of libraries that performs an effect. It is to be asked before the task
    goes on: later its frames are others."""
    names = _declared(session, effect) if effect.kind in BY_DECLARATION else _libraries(session, effect)
    return Acting(session, tuple(sorted(names))) if names else session


def declaring(session: EffectContext, section: str, name: str) -> Any:
    """Return the session, or the view of it for the library that has a declaration of this name in a section of the image."""
    library = _owner(session, section, name)
    return Acting(session, (library,)) if library else session


def models_refused(session: EffectContext, effect: Effect) -> Denied | None:
    """Return the denial of a call of a model that code of a library makes, or that anybody makes of a model which a library
    declares, where that library has not the permission `models`, which it has unless it was taken away; None for a call that is
    allowed. The denial is emitted."""
    run = acting(session, effect)
    if isinstance(run, Acting) and not permissions_of(run).models:
        payload = _call(effect)
        name = str(getattr(payload, "model", None) or getattr(payload, "embedder", None) or getattr(payload, "index", ""))
        try:
            deny(run, Access("models", name, "", {}))
        except Denied as denied:
            return denied
    return None


def _libraries(session: EffectContext, effect: Effect) -> set[str]:
    """Return the libraries whose rights count for an effect."""
    names = _declared(session, effect)
    task: Task | None = effect.task
    while task is not None:
        code = _code(task)
        if code is not None:
            names |= {code.library} - {""}
            break
        task = task.parent
        if task is not None and task.effect is not None:  # it runs for the call that its parent waits for
            names |= _declared(session, task.effect)
    return names


def _code(task: Task) -> Code | None:
    """Return the function that a task is in, the innermost one with rights of its own; None while only such of the standard
    library run in it."""
    if not task.state:  # it has ended
        return None
    codes = (task.state[3], *(frame[3] for frame in reversed(task.frames)))
    return next((code for code in codes if code is not None and _has_rights(code)), None)


def _has_rights(code: Code) -> bool:
    return code.library != STANDARD and bool(code.library or not code.hidden)


def _call(effect: Effect) -> Any:
    """Return the payload of an effect; of a reply that is read piece by piece that of its call."""
    payload = effect.payload
    if type(payload) is ItemStream:
        payload = payload.stream
    return payload.effect.payload if isinstance(payload, Stream) else payload


def _declared(session: EffectContext, effect: Effect) -> set[str]:
    payload = _call(effect)
    kind = {ModelCall: "model", AgentCall: "agent"}.get(type(payload), effect.kind)
    section, attribute = NAMED.get(kind, ("", ""))
    name = getattr(payload, attribute, None) if section else None
    owner = _owner(session, section, name) if isinstance(name, str) else ""
    return {owner} - {""}


def _owner(session: EffectContext, section: str, name: str) -> str:
    """Return the library that declares an entry of a section, "" for the program."""
    image = session.program.image
    for library in image.libraries:
        if any(of == section and getattr(image, section)[number].name == name for of, number in library.entries):
            return library.name
    return ""
