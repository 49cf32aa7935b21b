"""The summarisers of memories: a model of the program, a function of it, or one that the host gives by a name (M-9.1, M-9.9).

Hands on `summariser` to conversations, which fold with what it returns, and to the performer of models, for streams. When a fold
is due, and how the summary is stored, is `memory/summaries.py`. `step_machine.py` has the other functions in the steps of a
memory: a summariser may wait, those may not.
"""

from __future__ import annotations

from inspect import isawaitable

from ...vm.builtins.memories import message_array
from ...vm.interp.effects import Effect, ModelCall
from ...vm.panics import Panic
from ...vm.values import UNSET, Err, Ok, display
from ..access.secrets import clean_text
from ..host import full_text, neutral_text
from ..memory.stages import described
from .step_machine import step_closure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..memory.entries import Entry
    from ..memory.memory import Memory
    from ..memory.summaries import Summarise
    from ..running import EffectContext


class SummaryFailed(Exception):
    """The summariser failed, or gave no text; the message says how."""


def summariser(run: EffectContext, effect: Effect) -> Callable[[Memory, str], Summarise]:
    """Return the function that gives the summariser of a view of a memory, of the memory and the view's name. That view must have
    the step `summary`.

    The summariser takes the summary so far and the entries to fold, and returns the new summary; it raises SummaryFailed where it
    cannot, or a Panic: P414 of a mock, P013 of a foreign image, that of a budget which vectors use up. Of the host's exceptions
    the log gets class and text, at most 2,000 code points of it, the failure only the class. It runs for the task that waits for
    `effect`: the call whose turn makes the fold due."""

    def summariser_of(memory: Memory, view: str) -> Summarise:
        policy = memory.views[view].summary
        assert policy is not None
        kind, *name_or_place = policy.by  # a name of a model or of the host's, or the place of a function

        async def by_model(previous: str, entries: list[Entry]) -> str:
            lines = "\n".join(f"{entry.message.role}: {described(entry.message).content}" for entry in entries)
            prompt = "\n\n".join(part for part in (policy.prompt, previous, lines) if part)
            return await _ask_model(run, effect, name_or_place[0], prompt)

        async def by_function(previous: str, entries: list[Entry]) -> str:
            function = step_closure(run.machine, name_or_place, 2)
            messages = message_array([entry.message for entry in entries])
            try:
                return _text(await run.call(effect, function, [previous, messages], contains=True))
            except Panic as panic:
                raise SummaryFailed(f"panic[{panic.code}]: {panic.message}") from None

        async def by_host(previous: str, entries: list[Entry]) -> str:
            name = name_or_place[0]
            host_summariser = run.host.summarizers.get(name)
            if host_summariser is None:
                raise SummaryFailed(f"the host gives no summariser of the name {name}")
            try:
                text = host_summariser.fold(previous, entries)
                text = await text if isawaitable(text) else text
            except Exception as error:
                run.warn(f"the summariser {name} of the host: {full_text(error)}")
                raise SummaryFailed(neutral_text(f"the summariser {name} of the host", error)) from None
            return clean_text(_text(text))

        return {"model": by_model, "function": by_function, "host": by_host}[kind]

    return summariser_of


async def _ask_model(run: EffectContext, effect: Effect, model: str, prompt: str) -> str:
    """Call a model of the program without memory and tools. Budgets and mocks apply."""
    from .table import performer

    call = ModelCall(model, "execute", prompt, {}, None, True, UNSET, None, None, (), False)
    # A summary is no call of the program: `std::usage` still names the call that the program made last.
    spending, task = run.services.spending, effect.task.path
    last = spending.last.get(task) if spending is not None else None
    try:
        answer = await performer("model")(run, Effect(effect.key, "model", call, True, effect.task))
    finally:
        if spending is not None:
            if last is None:
                spending.last.pop(task, None)
            else:
                spending.last[task] = last
    value = answer if type(answer) is Err else answer.commit()
    return _text(Ok(value.value.get("text")) if type(value) is Ok else value)


def _text(value: Any) -> str:
    if type(value) is Err:
        raise SummaryFailed(getattr(value.value, "message", None) or display(value.value))
    text = value.value if type(value) is Ok else value
    if type(text) is not str:
        raise SummaryFailed("the summariser gave no text")
    return text
