"""A program as a module of Python: its functions, their shared session, and options for it (P-2.1, P-2.2).

Hands on `fill` to the importer and `configure` to users. Values are converted by the session (`session.py`), names come from
`declared_classes.py`, annotations from `annotations.py`; `stubs` tells type checkers of the same module. A module has no state
but its session, which begins with the first call.
"""

from __future__ import annotations

import asyncio
import atexit
import inspect
import os
import threading
from collections.abc import Callable
from functools import cached_property
from types import ModuleType
from typing import Any, Unpack

from .annotations import Objects, annotated
from .declared_classes import DeclaredClasses, classes_of
from .defaults import known_default
from .options import RunOptions, check_options, permitted
from .program import Program
from .python_names import KEPT_BY_MODULES
from .session import Session


class ModuleSession(Session):
    """A session of a program that is a module: `functions` has its public functions as methods, `aio` the same for code in an
    event loop. Made by the function `session` of the module, which has this class as its `Session`."""

    def __init__(self, module: Module, options: RunOptions) -> None:
        super().__init__(module.program._linked, options, module.program._project)
        self.functions = Namespace(module, lambda: self, "def")
        self.aio = Namespace(module, lambda: self, "async def")


class Namespace:
    """The functions of a program as attributes, by their names in Python, each made when it is first used; AttributeError for
    another name. `session` gives the session that they are called in, `word` is "def" or "async def"."""

    def __init__(self, module: Module, session: Callable[[], Session], word: str) -> None:
        self.__module, self.__session, self.__word = module, session, word  # a function may be called `_module`

    def __getattr__(self, name: str) -> Any:
        if name == "_Namespace__module":  # a copy that is being made has none yet
            raise AttributeError(name)
        path = self.__module.paths.get(name)
        if path is None:
            names = ", ".join(self.__module.paths) or "none"
            raise AttributeError(f"{self.__module.name} has no public function {name!r}; its functions are {names}")
        made = self.__module.function(path, self.__session, is_async=self.__word != "def")
        setattr(self, name, made)
        return made

    def __dir__(self) -> list[str]:
        return sorted(self.__module.paths)

    def __repr__(self) -> str:
        return f"<functions of {self.__module.name}: {', '.join(self.__module.paths) or 'none'}>"


class Module:
    """What the module of Python called `name` knows of its program. `options` are those that `configure` has set for it. The
    shared session is that of this process: a process that was forked begins its own."""

    def __init__(self, name: str, program: Program, source: str) -> None:
        """`source`: the path of the file that the program was compiled of."""
        self.name = name
        self.source = source
        self.program = program
        self.classes: DeclaredClasses = classes_of(program._linked)
        self.classes.module = name
        self.options: RunOptions = {}
        self.given: dict[str, Any] = {}  # what the module has been asked for
        self._lock = threading.Lock()
        self._shared: ModuleSession | None = None
        self._process = 0

    @cached_property
    def paths(self) -> dict[str, str]:
        """The paths of the public functions by their names in Python."""
        return {python: path for path, python in self.classes.functions.items()}

    @cached_property
    def _types(self) -> dict[str, str]:
        return {self.classes.types[key]: key for key in self.classes.shown()}

    def contents(self) -> list[str]:
        """Return the names that the module has of the program."""
        return [*self._types, *self.paths, *sorted(KEPT_BY_MODULES)]

    def made(self, name: str) -> Any:
        """Return what one of the names of `contents` stands for, and for `__all__` all of them. Raise KeyError for another."""
        if name == "__all__":
            return self.contents()
        if name == "Session":
            return ModuleSession
        if name == "session":
            return self.session
        if name == "aio":
            return Namespace(self, self.shared, "async def")
        if name in self._types:
            return self.classes.of(self.classes.declarations[self._types[name]])
        path = self.paths[name]
        return self.function(path, self.shared, is_async=self.classes.interface.function(path).is_async)

    def session(self, **options: Unpack[RunOptions]) -> ModuleSession:
        """Return a session of its own, with these options over those of the project and of `concerto.configure`. Raises TypeError
        or ValueError for wrong options, and what `Program.session` raises."""
        return ModuleSession(self, {**self._of_project(), **_EVERY, **self.options, **options})

    def shared(self) -> ModuleSession:
        """Return the session that the functions of the module share, which the first call makes. Raise as `session`."""
        with self._lock:
            if self._shared is None or self._process != os.getpid():
                self._shared, self._process = self.session(), os.getpid()
                atexit.register(_close, self._shared, self._process)
            return self._shared

    @property
    def has_begun(self) -> bool:
        """Whether this process has a shared session."""
        return self._shared is not None and self._process == os.getpid()

    def end(self) -> None:
        """Close the shared session, if there is one: the module is loaded anew. Within a running event loop that comes with the
        loop's next turn. Raise RecordingError as `Session.close`."""
        with self._lock:
            shared, self._shared = self._shared, None
        if shared is None or self._process != os.getpid():
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            shared.close()
            return
        closing = loop.create_task(shared.aclose())
        _CLOSING.add(closing)
        closing.add_done_callback(_CLOSING.discard)

    def _of_project(self) -> RunOptions:
        """Return the options that the project gives, as for `concerto run`: what its manifest permits, and the pins beside it, or
        beside the source where there is none."""
        from ..runtime.mcp.pins import FILE

        folder = self.program._project
        options: RunOptions = {}
        if folder is not None:
            from ..compiler.manifest import Manifest
            from ..compiler.manifest_file import NAME

            libraries = [library.name for library in self.program._linked.image.libraries]
            options["permissions"] = permitted(Manifest(os.path.join(folder, NAME)), libraries)
        pins = os.path.join(folder or os.path.dirname(self.source), FILE)
        if os.path.exists(pins):
            options["mcp_pins"] = pins
        return options

    def function(self, path: str, session: Callable[[], Session], *, is_async: bool) -> Callable[..., Any]:
        """Return the function of Python for a public function: a coroutine function where `is_async`. `session` gives the session
        that it is called in."""
        names = self.classes.parameter_names(path)
        own = {python: name for name, python in names.items() if name != python}
        python = self.classes.functions[path]
        form = f"write `await {self.name}.aio.{python}(…)`, or `.aio.` of its session"
        called: Callable[..., Any]
        if is_async:

            async def called(*args: Any, **named: Any) -> Any:
                return await session().acall(path, *args, **_renamed(named, own))

        else:

            def called(*args: Any, **named: Any) -> Any:
                here = session()
                return here._waiting(here.acall(path, *args, **_renamed(named, own)), form)

        return self._described(called, path, python)

    def _described(self, called: Any, path: str, python: str) -> Callable[..., Any]:
        """Give a function its name, documentation and signature, and return it."""
        linked, classes = self.program._linked, self.classes
        spelling = Objects(classes)
        function = linked.image.functions[linked.image.exports.functions[path]]
        names = classes.parameter_names(path)
        parameters = [
            inspect.Parameter(
                names[own],
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=inspect.Parameter.empty if default is None else known_default(linked, default),
                annotation=annotated(classes, kind, spelling),
            )
            for own, kind, default in function.params
        ]
        result = annotated(classes, classes.result_of(path), spelling)
        called.__name__, called.__qualname__, called.__module__ = python, python, self.name
        called.__doc__ = classes.interface.function(path).doc or None
        called.__signature__ = inspect.Signature(parameters, return_annotation=result)
        called.__annotations__ = {**{each.name: each.annotation for each in parameters}, "return": result}
        function_: Callable[..., Any] = called
        return function_


def _renamed(named: dict[str, Any], own: dict[str, str]) -> dict[str, Any]:
    return {own.get(name, name): value for name, value in named.items()} if own else named


def _close(session: ModuleSession, process: int) -> None:
    if process == os.getpid():  # what a parent process began is the parent's
        session.close()


def fill(module: ModuleType, program: Program) -> None:
    """Make a module of a program: its functions, the classes of its types, `aio`, `session` and `Session`, when first asked for.
    A module that is loaded again loses what it had of the program before, and its shared session is closed, in a running event
    loop a little later. Raise RecordingError for the end of a recording of that session."""
    name = module.__name__
    before = _MODULES.get(name)
    here = _MODULES[name] = Module(name, program, module.__file__ or "")
    if before is not None:
        here.options = before.options
        for gone in before.given:
            module.__dict__.pop(gone, None)

    def attribute(wanted: str) -> Any:
        """Make what a name of the module stands for, and keep it in the module."""
        # No name of a program begins so in Python, and the import system asks for many.
        if (wanted.startswith("__") or wanted not in here.contents()) and wanted != "__all__":
            raise AttributeError(f"module {name!r} has no attribute {wanted!r}")
        value = here.given[wanted] = here.made(wanted)
        module.__dict__[wanted] = value
        return value

    def names() -> list[str]:
        """Return the names of the module, sorted."""
        return sorted({*module.__dict__, *here.contents()})

    module.__dict__.update(
        __program__=program, __getattr__=attribute, __dir__=names, __doc__=f"The program {program.name} of Concerto."
    )
    if before is not None:
        before.end()


_MODULES: dict[str, Module] = {}
_CLOSING: set[asyncio.Task[None]] = set()  # a loop keeps no task of its own accord
_EVERY: RunOptions = {}  # options for the sessions of all modules


def configure(module: ModuleType | str | None = None, /, **options: Unpack[RunOptions]) -> None:
    """Set options for the sessions that modules of programs make from now on, over those of their projects: of one module, or of
    all. Options that were set before, and are not named, stay. Raises TypeError or ValueError for wrong options, ValueError for
    what is no imported program, RuntimeError where a shared session that this concerns has begun: call it before the first call
    of a function, or take a session of your own from the module's `session`."""
    check_options(options)
    name = module.__name__ if isinstance(module, ModuleType) else module
    if name is not None and name not in _MODULES:
        raise ValueError(f"{name} is no imported program; imported are {', '.join(_MODULES) or 'none'}")
    concerned = _MODULES.values() if name is None else [_MODULES[name]]
    begun = [each.name for each in concerned if each.has_begun]
    if begun:
        raise RuntimeError(
            f"the shared session of {', '.join(begun)} has begun; call configure before the first call of a function, "
            f"or take a session of your own: {begun[0]}.session(…)"
        )
    (_EVERY if name is None else _MODULES[name].options).update(options)
