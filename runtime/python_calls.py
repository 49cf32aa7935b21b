"""What a host must be able to do for functions of Python that a program calls (P-1.3), and how such a call fails.

Hands on the protocol `PythonCaller` to `host.py`, to the performer `effects/externs.py` and to `api/results.py`, `Elements` to
the performer alone; and the failure of both, `CallFailed`, to that performer and to `api/python_functions.py` and
`api/python_streams.py`, which implement the protocols and raise it: only there are values of the program values of Python.
Nothing is called or converted here.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from ..vm.interp.effects import Effect
    from ..vm.interp.linked import PythonFunction
    from .running import EffectContext

    class PythonCaller(Protocol):
        """Calls functions of Python for one session."""

        def is_bound(self, function: PythonFunction) -> bool:
            """Return whether the host itself has given the function: then it needs no permission (P-1.8)."""

        async def call(self, run: EffectContext, effect: Effect, function: PythonFunction, arguments: list[Any]) -> Any:
            """Call a function on values of the machine and return its value, one of the type that it is declared with; of a
            Result of HostError that of the Ok, if the function gives no Result itself. Raises CallFailed, and the panic of a
            value that has no counterpart in Python."""

        def elements(self, run: EffectContext, function: PythonFunction, arguments: list[Any]) -> Elements:
            """Return what gives the elements of a call, which is made when the first is asked for."""


    class Elements(Protocol):
        """What a function of Python gives one by one."""

        async def next(self, effect: Effect) -> Any:
            """Return Some of the next element, a value of the machine, or NONE at the end. Raises CallFailed, and what ends the
            run; the caller calls `close` then, and not `next`."""

        async def close(self, waits: bool) -> None:
            """End the function, which has not come to its end perhaps; without `waits` a thread does so when it comes to it. What
            it raises then is dropped."""


class CallFailed(Exception):
    """A call of a function of Python gave no value. `variant` is that of HostError, `message` what happened, `fields` what the
    error carries besides."""

    def __init__(self, variant: str, message: str, **fields: Any) -> None:
        super().__init__(variant, message)
        self.variant = variant
        self.message = message
        self.fields = fields
