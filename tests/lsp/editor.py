"""An editor: `concerto lsp` as a child process, and the messages of the protocol as they go over its pipes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from ..command import environment

Json = Any


class Editor:
    """Positions are (line, character) from 0, in UTF-16 units."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "concerto", "lsp"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe, env=environment())
        self.folder = folder
        self.number = 0
        self.version = 0
        self.opened: set[str] = set()
        self.capabilities = self.ask("initialize", {"processId": None, "rootUri": folder.as_uri(), "capabilities": {}})
        self.tell("initialized", {})

    # ------------------------------------------------------------ messages

    def send(self, message: Json) -> None:
        assert self.process.stdin is not None
        data = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data))
        self.process.stdin.flush()

    def receive(self) -> Json:
        assert self.process.stdout is not None
        length = 0
        while line := self.process.stdout.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        assert length, self.process.stderr.read() if self.process.stderr else b""
        return json.loads(self.process.stdout.read(length))

    def tell(self, method: str, params: Json) -> None:
        self.send({"method": method, "params": params})

    def ask(self, method: str, params: Json) -> Json:
        self.number += 1
        self.send({"id": self.number, "method": method, "params": params})
        while (message := self.receive()).get("id") != self.number:
            pass
        assert "error" not in message, message
        return message["result"]

    # ------------------------------------------------------------ documents

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def open(self, text: str, name: str = "a.conc") -> list[Json]:
        """The diagnostics that come back."""
        document = {"uri": self.uri(name), "languageId": "concerto", "version": 0, "text": text}
        self.opened.add(name)
        self.tell("textDocument/didOpen", {"textDocument": document})
        return self.diagnostics(name)

    def edit(self, text: str, name: str = "a.conc") -> list[Json]:
        self.version += 1
        document = {"uri": self.uri(name), "version": self.version}
        self.tell("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})
        return self.diagnostics(name)

    def close(self, name: str) -> dict[str, list[Json]]:
        """The diagnostics of all that was open, by URI: those still open are looked at anew."""
        document = {"textDocument": {"uri": self.uri(name)}}
        self.ask("textDocument/documentSymbol", document)  # what was sent before is behind us
        self.tell("textDocument/didClose", document)
        found: dict[str, list[Json]] = {}
        for _ in range(len(self.opened)):
            message = self.receive()
            assert message["method"] == "textDocument/publishDiagnostics"
            found[message["params"]["uri"]] = message["params"]["diagnostics"]
        self.opened.discard(name)
        return found

    def close_all(self) -> None:
        for name in sorted(self.opened):
            assert self.close(name)[self.uri(name)] == []

    def diagnostics(self, name: str) -> list[Json]:
        while True:
            message = self.receive()
            if message.get("method") == "textDocument/publishDiagnostics" and message["params"]["uri"] == self.uri(name):
                return list(message["params"]["diagnostics"])

    def at(self, question: str, line: int, character: int, name: str = "a.conc") -> Json:
        position = {"line": line, "character": character}
        return self.ask(f"textDocument/{question}", {"textDocument": {"uri": self.uri(name)}, "position": position})

    def hover(self, line: int, character: int) -> str:
        found = self.at("hover", line, character)
        return "" if found is None else str(found["contents"]["value"])

    def offers(self, line: int, character: int) -> list[str]:
        return [item["label"] for item in self.at("completion", line, character)]

    def about(self, question: str, **more: Json) -> Json:
        return self.ask(f"textDocument/{question}", {"textDocument": {"uri": self.uri("a.conc")}, **more})

    # ------------------------------------------------------------ the end

    def leave(self, *, shutdown: bool = True, exit: bool = True) -> tuple[int, str]:
        """Exit code and stderr."""
        if shutdown:
            self.ask("shutdown", None)
        if exit:
            self.tell("exit", None)
        assert self.process.stdin is not None and self.process.stdout is not None and self.process.stderr is not None
        if not exit:
            self.process.stdin.close()
        code = self.process.wait(timeout=60)
        err = self.process.stderr.read().decode()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()
        return code, err
