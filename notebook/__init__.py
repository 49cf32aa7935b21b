"""Concerto in a notebook: `%load_ext concerto.notebook` (P-2.6).

Hands on the two functions that IPython calls. `%%concerto` compiles and runs a cell in the session of the notebook, `%concerto`
begins a new session with the flags of `concerto repl`, `%concerto_trace` shows what the last run did. Nothing is imported here
before IPython asks for it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def load_ipython_extension(ipython: InteractiveShell) -> None:
    """Give IPython the magics. IPython calls this for `%load_ext`."""
    from .magics import ConcertoMagics

    ipython.register_magics(ConcertoMagics(ipython))


def unload_ipython_extension(ipython: InteractiveShell) -> None:
    """End the session of the notebook. IPython calls this for `%unload_ext`."""
    from .magics import ConcertoMagics

    magics = ipython.magics_manager.registry.pop(ConcertoMagics.__name__, None)
    if isinstance(magics, ConcertoMagics):
        for kinds in ipython.magics_manager.magics.values():
            for name in [name for name, function in kinds.items() if getattr(function, "__self__", None) is magics]:
                del kinds[name]
        magics.close()
