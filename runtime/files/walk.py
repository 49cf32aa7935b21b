"""A path walked component by component from the descriptor of a root, links resolved on the way and never left to the
system (G-8.2).

Hands on `walk` and the `Spot` it ends at. Must not know: why somebody goes there.
"""

from __future__ import annotations

import errno
import os

from ..system import flag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .roots import Root

MOST_LINKS = 40
STEP = os.O_RDONLY | flag("O_DIRECTORY") | flag("O_NOFOLLOW") | flag("O_NONBLOCK") | flag("O_CLOEXEC")


class Outside(Exception):
    """The path leads out of the root."""


class Spot:
    """Where a path ends: an open directory and a name in it that is no link, or `.`. A context manager that closes it."""

    __slots__ = ("fd", "name")

    def __init__(self, fd: int, name: str) -> None:
        self.fd = fd
        self.name = name

    def __enter__(self) -> Spot:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.fd)


def walk(root: Root, components: Sequence[str], *, follow: bool = True) -> Spot:
    """Raises Outside, or OSError where a component is missing. Without `follow` a link at the end is not resolved."""
    walker = _Walk(root, components, follow)
    try:
        return walker.run()
    finally:
        for fd in walker.open:
            os.close(fd)


class _Walk:
    """`open` holds a descriptor per directory on the way, `names` what each but the first is called."""

    def __init__(self, root: Root, components: Sequence[str], follow: bool) -> None:
        self.root = root
        self.follow = follow
        self.pending = list(components)[::-1]
        self.open = [os.dup(root.fd)]
        self.names: list[str] = []
        self.links = 0

    def run(self) -> Spot:
        name = "."
        while self.pending:
            part = self.pending.pop()
            if part in ("", "."):
                continue
            if part == "..":
                self._up()
            elif not self._through_link(part):
                if not self.pending:
                    name = part
                    break
                self._down(part)
        reached = [*self.names, *([] if name == "." else [name])]
        if tuple(reached[: len(self.root.tail)]) != self.root.tail:
            raise Outside
        return Spot(self.open.pop(), name)

    def _up(self) -> None:
        if not self.names:
            raise Outside
        self.names.pop()
        os.close(self.open.pop())

    def _down(self, part: str) -> None:
        self.open.append(os.open(part, STEP, dir_fd=self.open[-1]))
        self.names.append(part)

    def _through_link(self, part: str) -> bool:
        """Puts the target of a link in its place."""
        if not self.follow and not self.pending:
            return False
        try:
            target = os.readlink(part, dir_fd=self.open[-1])
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOENT):
                return False
            raise
        self.links += 1
        if self.links > MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        self.pending.extend(reversed(self._from_root(target) if target.startswith("/") else target.split("/")))
        return True

    def _from_root(self, target: str) -> list[str]:
        """An absolute target starts anew at the root, or leads out of it."""
        components = self.root.below_base(os.path.normpath(target))
        if components is None:
            raise Outside
        while self.names:
            self._up()
        return components
