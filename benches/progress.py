"""One line on a terminal that says which row is being measured; nothing elsewhere."""

from __future__ import annotations

from typing import TextIO


class Progress:
    def __init__(self, stream: TextIO, total: int) -> None:
        self.stream = stream
        self.total = total
        self.done = 0
        self.shown = stream.isatty()

    def step(self, name: str) -> None:
        self.done += 1
        self._write(f"[{self.done}/{self.total}] {name} …")

    def clear(self) -> None:
        self._write("")

    def _write(self, text: str) -> None:
        if self.shown:
            self.stream.write(f"\r\x1b[K{text}")
            self.stream.flush()
