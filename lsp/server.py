"""The protocol: requests and notifications of an editor, answered by the other modules of this package.

Hands on `serve` to `cli/lsp.py`. The only module of this folder that imports `pygls`. What there is to say of a program is found
out by the others; no file is written. Documents are sent whole at each change, and every open document is analysed anew then,
since one may be a module of another; what did not change is taken from the server's `CheckCache`. A new request is a function in
one of the `_register_…` groups.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Iterator
from typing import BinaryIO, cast

from lsprotocol import types as lsp
from pygls import uris
from pygls.lsp.server import LanguageServer

from ..compiler.diagnostics import Diagnostic, Diagnostics
from ..compiler.format import format_source
from ..compiler.incremental import CheckCache
from ..compiler.source import Source, Span
from . import features
from .analysis import UTF16, Analysis, analyse, definition_of, occurrence_at, offset_at, position_at
from .features import Entry, Offer, complete, hover_at, outline
from .semantic import MODIFIERS, TYPES, change, encoded, tokens

# Where one message of an editor ends and the next begins.

LONGEST = 64 << 20  # bytes of one message: a source of 8 MiB, with every character escaped
LONGEST_LINE = 8 << 10  # bytes of one line of a header
MOST_LINES = 64  # of one header
_LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*(.*?)[ \t]*", re.IGNORECASE)


class _Broken(Exception):
    """A header that does not tell where its message ends."""


class Frames:
    """Standard input as the library reads it: one `Content-Length` line, an empty line, the body (G-5.12). It stands
    between the input and the library, which would wait for ever behind a header that it does not understand. `problem` says
    why reading ended elsewhere than between two messages; what follows a header without a length cannot be told apart from it."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.problem: str | None = None
        self._blank = False  # the empty line behind the header is to be read

    def readline(self) -> bytes:
        """Return the next line of a header, an empty text at the end of the input or after a problem."""
        if self._blank:
            self._blank = False
            return b"\r\n"
        try:
            length = self._length()
        except _Broken as broken:
            self.problem = str(broken)
            return b""
        if length is None:
            return b""
        self._blank = True
        return b"Content-Length: %d\r\n" % length

    def read(self, length: int) -> bytes:
        """Return the body of a message of `length` bytes; if the input ends before, set `problem` and return an empty text."""
        body = self.stream.read(length)
        if len(body) < length:
            self.problem = f"the input ends after {len(body)} of {length} bytes of a message"
            return b""
        return body

    def _length(self) -> int | None:
        """Return the length of the next message in bytes, None at the end. Messages without a body are skipped. Raise _Broken as
        `_header`."""
        while True:
            length = self._header()
            if length != 0:
                return length

    def _header(self) -> int | None:
        """Return the length that one header tells, None at the end of the input. Raise _Broken for a header that tells none."""
        length: int | None = None
        # A client that never ends its header must not fill the memory.
        for number in range(MOST_LINES):
            line = self.stream.readline(LONGEST_LINE)
            if not line and number == 0:
                return None
            if not line.endswith(b"\n"):
                raise _Broken("the input ends in a header" if len(line) < LONGEST_LINE else "a header line is too long")
            line = line.rstrip(b"\r\n")
            if not line:
                if length is None:
                    raise _Broken("a header gives no `Content-Length`")
                return length
            match = _LENGTH.fullmatch(line)
            if match is None:
                continue
            # At most 18 digits, so that the number stays small before it is compared.
            if re.fullmatch(rb"[0-9]{1,18}", match[1]) is None:
                raise _Broken(f"`{_printable(line)}` is no length")
            if int(match[1]) > LONGEST:
                raise _Broken(f"`{_printable(line)}`: a message has at most {LONGEST} bytes")
            if length not in (None, int(match[1])):
                raise _Broken("a header gives two lengths")
            length = int(match[1])
        raise _Broken(f"a header has more than {MOST_LINES} lines")


def _printable(line: bytes) -> str:
    text = line[:80].decode("ascii", "replace")
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


KINDS = {
    features.METHOD: lsp.CompletionItemKind.Method,
    features.FIELD: lsp.CompletionItemKind.Field,
    features.FUNCTION: lsp.CompletionItemKind.Function,
    features.VARIANT: lsp.CompletionItemKind.EnumMember,
    features.MODULE: lsp.CompletionItemKind.Module,
    features.TYPE: lsp.CompletionItemKind.Class,
    features.VARIABLE: lsp.CompletionItemKind.Variable,
    features.CONSTANT: lsp.CompletionItemKind.Constant,
    features.HANDLE: lsp.CompletionItemKind.Value,
}


class Server(LanguageServer):
    """One editor. `analyses` has the latest analysis of each open document by its URI, `cache` what all analyses so far came to.
    `answers` counts the answers with colours, which are named by their numbers. `shutdown_requested` and `exited` say that the
    editor has said `shutdown` and `exit`."""

    def __init__(self, version: str) -> None:
        super().__init__("concerto", version, text_document_sync_kind=lsp.TextDocumentSyncKind.Full)
        self.analyses: dict[str, Analysis] = {}
        self.cache = CheckCache()
        self.coloured: dict[str, tuple[str, list[int]]] = {}  # of each open document the tokens last sent, and that answer's name
        self.answers = 0
        self.shutdown_requested = False
        self.exited = False

    # ------------------------------------------------------------ texts and places

    @property
    def encoding(self) -> str:
        """Return the encoding in which positions count characters, as `units` takes it: a text that is neither `utf-8` nor
        `utf-32` means UTF-16."""
        return str(self.workspace.position_encoding or UTF16)

    def text(self, uri: str) -> str:
        """Return the text of a document without a byte order mark: of one that is not open what the disk has. What reading that
        raises passes through."""
        return self.workspace.get_text_document(uri).source.removeprefix("\ufeff")

    def analyse(self, uri: str, text: str) -> Analysis:
        """Return the analysis of a document with this text, beside the other open documents. It is not remembered."""
        # Open texts come before those on disk, for all files of the program.
        others = {os.path.realpath(path_of(other)): self.text(other) for other in self.analyses if other != uri}
        return analyse(path_of(uri), text, others, self.cache)

    def analysis(self, uri: str) -> Analysis:
        """Return the latest analysis of an open document, a new one, of the text on disk, of any other."""
        return self.analyses.get(uri) or self.analyse(uri, self.text(uri))

    def offset(self, source: Source, position: lsp.Position) -> int:
        """Return the offset in characters of a position of the protocol."""
        return offset_at(source, position.line, position.character, self.encoding)

    def range(self, source: Source, span: Span) -> lsp.Range:
        """Return the range of a span of `source`."""
        start, end = (position_at(source, at, self.encoding) for at in (span.start, span.end))
        return lsp.Range(lsp.Position(*start), lsp.Position(*end))

    def location(self, analysis: Analysis, span: Span) -> lsp.Location | None:
        """Return the place of a span, None if its file is none of the program, such as the text of the library, or has no URI."""
        source = analysis.project.sources.get(span.file)
        if source is None:
            return None
        path = analysis.path_of(span.file)
        open_documents = {os.path.realpath(path_of(uri)): uri for uri in self.analyses}
        uri = open_documents.get(os.path.realpath(path)) or uris.from_fs_path(path)
        return lsp.Location(uri, self.range(source, span)) if uri is not None else None

    # ------------------------------------------------------------ colours

    def token_data(self, uri: str, span: Span | None = None) -> list[int]:
        """Return the numbers of the tokens of a document, five for each (`encoded`), or of those that overlap the span."""
        analysis = self.analysis(uri)
        within = [t for t in tokens(analysis) if span is None or (t.end > span.start and t.start < span.end)]
        return encoded(within, analysis.source, self.encoding)

    def keep_colours(self, uri: str, data: list[int]) -> str:
        """Remember the tokens that are sent of an open document; return the name of the answer, to which a later request may
        refer."""
        self.answers += 1
        if uri in self.analyses:
            self.coloured[uri] = (str(self.answers), data)
        return str(self.answers)

    # ------------------------------------------------------------ diagnostics

    def refresh(self, changed: str) -> None:
        """Analyse all open documents anew after a change of the document `changed`, which is open from now on, and send their
        diagnostics: one may be a module of another."""
        self.analyses[changed] = self.analyse(changed, self.text(changed))
        self.publish(changed)
        self.refresh_all(but=changed)

    def refresh_all(self, but: str | None = None) -> None:
        """Analyse the open documents anew, all but the one of the URI `but`, and send their diagnostics: of a closed one the text
        on disk counts."""
        # A copy, since analysing changes the dictionary.
        for uri in [uri for uri in self.analyses if uri != but]:
            self.analyses[uri] = self.analyse(uri, self.text(uri))
            self.publish(uri)

    def publish(self, uri: str) -> None:
        """Send the diagnostics of an open document, those that `analyses` has. KeyError for another document."""
        analysis = self.analyses[uri]
        diagnostics = [self.diagnostic(analysis, one) for one in analysis.own]
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, diagnostics))

    def diagnostic(self, analysis: Analysis, one: Diagnostic) -> lsp.Diagnostic:
        """Return a diagnostic as the protocol has it; a help is a second line of the message."""
        related = []
        for other in one.related:
            place = self.location(analysis, other.span)
            if place is not None:
                related.append(lsp.DiagnosticRelatedInformation(place, other.message))
        severity = lsp.DiagnosticSeverity.Error if one.is_error else lsp.DiagnosticSeverity.Warning
        # The protocol has no place for a help.
        message = one.message if one.help is None else f"{one.message}\nhelp: {one.help}"
        return lsp.Diagnostic(
            self.range(analysis.source, one.span), message, severity=severity, code=one.code, source="concerto",
            related_information=related or None,
        )  # fmt: skip

    def report_server_error(self, error: Exception, source: object) -> None:
        """Write the error on stderr, which editors show in a log, without a traceback, which helps nobody there."""
        print(f"concerto lsp: {type(error).__name__}: {error}", file=sys.stderr)


def path_of(uri: str) -> str:
    """Return the path of the file of a document; one that has none yet is `untitled.conc` in the working directory."""
    path = uris.to_fs_path(uri) if uri.startswith("file:") else None
    return path or os.path.join(os.getcwd(), "untitled.conc")


def serve(version: str) -> bool:
    """Talk as `version` of the server on standard input and output until the editor leaves, or sends what is no message (G-5.12):
    then stderr says why. Return whether the editor said `shutdown` and `exit`."""
    logging.getLogger("pygls").addHandler(logging.NullHandler())
    logging.getLogger("pygls").propagate = False
    server = Server(version)
    _register_life(server)
    _register_questions(server)
    _register_colours(server)
    frames = Frames(sys.stdin.buffer)
    # of a copy: the library closes what it writes to, and the command still flushes its own
    with open(os.dup(sys.stdout.fileno()), "wb") as output:
        server.start_io(stdin=cast(BinaryIO, frames), stdout=output)
    if frames.problem is not None:
        print(f"concerto lsp: {frames.problem}; the server ends", file=sys.stderr)
    return server.shutdown_requested and server.exited


def _register_life(server: Server) -> None:
    @server.feature(lsp.SHUTDOWN)
    def shutdown(_: None = None) -> None:
        server.shutdown_requested = True

    @server.feature(lsp.EXIT)
    def leave(_: None = None) -> None:
        server.exited = True

    @server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
    def opened(params: lsp.DidOpenTextDocumentParams) -> None:
        server.refresh(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
    def changed(params: lsp.DidChangeTextDocumentParams) -> None:
        server.refresh(params.text_document.uri)

    @server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
    def closed(params: lsp.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        server.analyses.pop(uri, None)
        server.coloured.pop(uri, None)
        server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))
        server.refresh_all()


def _register_questions(server: Server) -> None:
    @server.feature(lsp.TEXT_DOCUMENT_HOVER)
    def hover(params: lsp.HoverParams) -> lsp.Hover | None:
        analysis = server.analysis(params.text_document.uri)
        place_and_text = hover_at(analysis, server.offset(analysis.source, params.position))
        if place_and_text is None:
            return None
        span, markdown = place_and_text
        return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, markdown), server.range(analysis.source, span))

    @server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
    def definition(params: lsp.DefinitionParams) -> lsp.Location | None:
        analysis = server.analysis(params.text_document.uri)
        occurrence = occurrence_at(analysis, server.offset(analysis.source, params.position))
        span = definition_of(occurrence) if occurrence is not None else None
        return server.location(analysis, span) if span is not None else None

    @server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=[".", ":"]))
    def completion(params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
        uri = params.text_document.uri
        text = server.text(uri)
        offset = server.offset(Source("", text), params.position)
        offers = complete(text, offset, lambda changed: server.analyse(uri, changed))
        return [_item(offer, number) for number, offer in enumerate(offers)]

    @server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def symbols(params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        analysis = server.analysis(params.text_document.uri)
        entries = outline(analysis.tree) if analysis.tree is not None else []
        return list(_symbols(server, analysis.source, entries))

    @server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
    def formatting(params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit] | None:
        """Return no edit for text with syntax errors, which stays as it is, as with `concerto fmt`."""
        source = Source("document", server.text(params.text_document.uri))
        text = format_source(source, Diagnostics())
        if text is None:
            return None
        whole = server.range(source, Span(source.name, 0, len(source.text)))
        return [lsp.TextEdit(whole, text)] if text != source.text else []


def _register_colours(server: Server) -> None:
    legend = lsp.SemanticTokensLegend(list(TYPES), list(MODIFIERS))

    @server.feature(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, legend)
    def full(params: lsp.SemanticTokensParams) -> lsp.SemanticTokens:
        uri = params.text_document.uri
        data = server.token_data(uri)
        return lsp.SemanticTokens(data, server.keep_colours(uri, data))

    @server.feature(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL_DELTA, legend)
    def delta(params: lsp.SemanticTokensDeltaParams) -> lsp.SemanticTokens | lsp.SemanticTokensDelta:
        """Return the difference to the last answer, or all tokens to a client that holds another answer."""
        uri = params.text_document.uri
        name, before = server.coloured.get(uri, ("", []))
        data = server.token_data(uri)
        answer = server.keep_colours(uri, data)
        # The client has another answer than the last one, so a difference would not fit.
        if name != params.previous_result_id:
            return lsp.SemanticTokens(data, answer)
        edit = change(before, data)
        return lsp.SemanticTokensDelta([lsp.SemanticTokensEdit(*edit)] if edit is not None else [], answer)

    @server.feature(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, legend)
    def part(params: lsp.SemanticTokensRangeParams) -> lsp.SemanticTokens:
        uri = params.text_document.uri
        source = server.analysis(uri).source
        start, end = (server.offset(source, place) for place in (params.range.start, params.range.end))
        return lsp.SemanticTokens(server.token_data(uri, Span(source.name, start, end)))


def _item(offer: Offer, number: int) -> lsp.CompletionItem:
    """Return an offer as the protocol has it. Offers keep their order: names of the program before those of the language."""
    doc = lsp.MarkupContent(lsp.MarkupKind.Markdown, offer.doc) if offer.doc else None
    return lsp.CompletionItem(
        offer.name, kind=KINDS[offer.kind], detail=offer.detail or None, documentation=doc, sort_text=f"{number:04}"
    )


def _symbols(server: Server, source: Source, entries: list[Entry]) -> Iterator[lsp.DocumentSymbol]:
    for entry in entries:
        children = list(_symbols(server, source, entry.inside))
        yield lsp.DocumentSymbol(
            entry.name, lsp.SymbolKind[entry.sort], server.range(source, entry.span),
            server.range(source, entry.name_span), children=children or None,
        )  # fmt: skip
