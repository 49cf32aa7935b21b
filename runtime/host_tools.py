"""Functions of the host in the place of tool methods (O-4.32, O-9.43).

Hands on `handled`. Must not know: values of the host, the loop of a model call.
"""

from __future__ import annotations

from ..vm.panics import Panic
from ..vm.values import Err, Ok
from .call_contexts import context_around
from .host_failures import message_and_fields

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from ..vm.effects import Effect
    from .running import Running

    class Method(Protocol):
        """What is replaced: `result` is the descriptor of what it gives."""

        tool: str
        name: str
        result: Any

        @property
        def fallible(self) -> bool: ...

        def failed(self, variant: str, message: str, **fields: Any) -> Err: ...


async def handled(run: Running, effect: Effect, method: Method, handler: Any, arguments: list[Any]) -> Any:
    """What the function of the host gives, as a value of the declared type; what it raises is an Err of ToolError
    (G-9.10), and P415 where the method has no Result to carry it."""

    async def give(number: int, given: list[Any]) -> Any:
        return await run.call(effect, run.program.codes[number], given)

    try:
        value = await handler(arguments, method.result, give, lambda: context_around(effect))
    except Exception as error:
        what = f"the host function of {method.tool}.{method.name}"
        message, fields = message_and_fields(run.redactor.clean, what, error)
        if not method.fallible:
            raise Panic("P415", f"{what} failed: {message}") from None
        return method.failed("ExecutionFailed", message, **fields)
    return Ok(value) if method.fallible and type(value) not in (Ok, Err) else value
