"""The way from a program to an application that serves it (S-1.1).

Hands on `asgi` to the root, where users find it as `concerto.asgi`, to `concerto serve` and to `server.py`. Starlette is imported
by its first call, so that `import concerto` needs none of it. What is served is decided in `app.py`, which options there are in
`settings.py`.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ..api.program import Program, program_of

if TYPE_CHECKING:
    from .app import Application

LIBRARIES = ("starlette", "prometheus_client", "anyio")


def asgi(target: Program | str | os.PathLike[str], **options: Any) -> Application:
    """Return an ASGI application that serves the public functions of a program, or of the source or image at a path: to be
    mounted by FastAPI, Starlette or Django, or run by any ASGI server. Whoever mounts it awaits its `aclose()` in the end, or
    runs its lifespan.

    `options` are settings of the service (the fields of `concerto.serve.settings.Serving`, such as `tokens`, `keys`,
    `concurrent`), and those of `Program.session`, which every session gets. `keys` left out are `[serve.keys]` of the project.
    Raises TypeError and ValueError for wrong ones, OSError for a file of states or a run store that cannot be used; CompileError,
    ImageError and OSError as `run` for a path; ImportError where a library of the extra `serve` is not installed."""
    try:
        from .app import Application
        from .settings import settings_of
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in LIBRARIES:
            raise
        from ..api.json_calls import install_advice

        raise ImportError(f"asgi needs the library {missing.name}, which is not installed: {install_advice('serve')}") from None
    program = target if isinstance(target, Program) else program_of(target)
    settings, of_sessions = settings_of({"keys": program.serve_keys, **options})
    return Application(program, settings, of_sessions)
