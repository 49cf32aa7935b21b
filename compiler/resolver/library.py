"""What the language declares in its own terms: the actions of the hooks of models, the tools of `std::tools` (O-4.30 to O-4.35),
the schema around replies that are no objects, the enum `Progress<T>` of the fields of a reply that arrives piece by piece, and
`E::parse` of enums.

Hands on `declare_library`, `declare_reply`, `declare_progress`, `library_tool` and `enum_parse` to `program`. `r` is the state of
the resolution of one program. The text of the library is parsed and resolved like a program's, in the outermost scope, and only
what a program names: the rest would cost every compilation. A tool more is its text in TOOLS and a row of GUARDS (and its name in
`names.TOOL_NAMES`).
"""

from __future__ import annotations

import re

from ...vm.schema import PROGRESS
from ..diagnostics import Diagnostics
from ..source import Source
from ..symbols import EnumSymbol, FunctionSymbol, ImplSymbol, StructSymbol, Symbol
from ..syntax import ast
from ..syntax.parse import parse
from ..types import ANY, NIL, Nominal
from .items import enum_symbol, tool_symbol, visit_items
from .items import function as resolve_function
from .names import LIBRARY
from .state import Resolver

# What a hook of a model may decide about the call of a tool, and about one that failed.
ACTIONS = """\
enum ToolCallAction { Allow, Deny(String), Replace(Any) }
enum ToolErrorAction { ReportToLLM, Retry(Int), Fail }
"""

# A method of the tools below: the ToolError for an error of the library.
_FAILED = """\
    fn failed(self, e: Error) -> ToolError {
        let problem: Any = e;
        if problem.variant == "PermissionDenied" { return ToolError::PermissionDenied(e.message); }
        ToolError::ExecutionFailed(e.message)
    }
"""

TOOLS = f"""\
tool HttpTool {{
    description: "Fetches and sends data over HTTP",

    @describe("Fetch a URL with GET and give the body of the response")
    @param("url", "http or https URL")
    @param("headers", "further request headers")
    pub fn get(self, url: String, headers: Map<String, String> = {{}}) -> Result<String, ToolError> {{
        self.body(std::http::get(url, headers))
    }}

    @describe("Send a body to a URL with POST and give the body of the response")
    @param("url", "http or https URL")
    @param("body", "what is sent")
    @param("headers", "further request headers")
    pub fn post(self, url: String, body: String, headers: Map<String, String> = {{}}) -> Result<String, ToolError> {{
        self.body(std::http::post(url, body, headers))
    }}

    fn body(self, sent: Result<std::http::HttpResponse, HttpError>) -> Result<String, ToolError> {{
        match sent {{
            Ok(response) if response.status < 400 => Ok(response.body),
            Ok(response) => Err(ToolError::ExecutionFailed("status ${{response.status}}: ${{response.body}}")),
            Err(e) => Err(self.failed(e)),
        }}
    }}
{_FAILED}}}

tool FileTool {{
    description: "Reads and writes text files",

    @describe("Give the text of a file")
    @param("path", "path of the file")
    pub fn read(self, path: String) -> Result<String, ToolError> {{
        match std::fs::read_file(path) {{ Ok(text) => Ok(text), Err(e) => Err(self.failed(e)) }}
    }}

    @describe("Write a text to a file, in place of what was there")
    @param("path", "path of the file")
    @param("text", "the whole new text")
    pub fn write(self, path: String, text: String) -> Result<Nil, ToolError> {{
        match std::fs::write_file(path, text) {{ Ok(_) => Ok(nil), Err(e) => Err(self.failed(e)) }}
    }}

    @describe("Tell whether there is a file")
    @param("path", "path of the file")
    pub fn exists(self, path: String) -> Result<Bool, ToolError> {{
        match std::fs::file_size(path) {{
            Ok(_) => Ok(true),
            Err(FsError::NotFound {{ .. }}) => Ok(false),
            Err(FsError::PermissionDenied {{ message, .. }}) => Err(ToolError::PermissionDenied(message)),
            Err(_) => Ok(true),
        }}
    }}
{_FAILED}}}

tool ShellTool {{
    description: "Runs commands",

    @describe("Run a command and give what it writes")
    @param("command", "the command with its arguments, quoted as in a shell; pipes and redirections are not understood")
    @param("timeout_ms", "time limit in milliseconds")
    pub fn exec(self, command: String, timeout_ms: Int = 30000) -> Result<String, ToolError> {{
        std::tools::run_command(command, timeout_ms)
    }}
}}
"""

# The capability each method needs (O-4.33 to O-4.35): without any grant of it the method is offered to nobody (O-4.20).
GUARDS = {
    "HttpTool": {"get": "net", "post": "net"},
    "FileTool": {"read": "fs_read", "write": "fs_write", "exists": "fs_read"},
    "ShellTool": {"exec": "run"},
}


# What a reply holds whose type is no object (O-2.64): models answer with an object, and the value is taken out of it.
REPLY = "schema Reply<T> { value: T }"
# A comment may stand behind the name of a call; `by` is the clause of a function by a model.
ASKING = re.compile(r"\b(?:(?:execute|execute_with_schema|stream_with_schema|parse_schema)\s*(?:<|/[/*])|by\b)")


def declare_reply(r: Resolver) -> None:
    """Declare the schema around replies that are no objects, which no name of a program reaches, if the program may ask for
    one."""
    if not any(ASKING.search(source.text) for source in r.project.sources.values()):
        return
    (item,) = parse(Source(LIBRARY, REPLY), Diagnostics()).items
    assert isinstance(item, ast.Schema)
    # A key that no declaration of a program has, so that its own `Reply` keeps its name.
    symbol = item.symbol = StructSymbol("Reply", item, Nominal("schema", "Reply", key="std::Reply"), [])
    with r.inside(r.root, r.outermost):
        r.module.add(symbol, item.name.span)
        visit_items(r, [item])
    symbol.home = None
    r.module.reply = symbol


# How far a field of a reply has come that arrives piece by piece (O-2.71).
PROGRESS_ENUM = "enum Progress<T> { Missing, Growing(T), Done(T) }"
ARRIVING = re.compile(r"\b(?:stream_with_schema|TypedStream|Partial)\b")


def declare_progress(r: Resolver) -> None:
    """Declare the enum `Progress<T>` in the outermost scope if the program may stream a schema. Its variants are named as
    those of any enum: by its path, and bare in patterns alone (L-5.8.14)."""
    if not any(ARRIVING.search(source.text) for source in r.project.sources.values()):
        return
    (item,) = parse(Source(LIBRARY, PROGRESS_ENUM), Diagnostics()).items
    assert isinstance(item, ast.Enum)
    with r.inside(r.root, r.outermost):
        symbol = item.symbol = r.outermost.names["Progress"] = enum_symbol(r, item, "Progress")
        assert isinstance(symbol.type, Nominal)
        symbol.type = Nominal("enum", "Progress", symbol.type.arguments, key=PROGRESS)
        r.module.add(symbol, item.name.span)
        visit_items(r, [item])
    r.module.progress = symbol


def declare_library(r: Resolver) -> None:
    """Declare the enums of the library whose names occur in the program, in the outermost scope."""
    for item in parse(Source(LIBRARY, ACTIONS), Diagnostics()).items:
        assert isinstance(item, ast.Enum)
        name = item.name.text
        # A search of the text is enough: a needless declaration only costs time.
        if any(name in source.text for source in r.project.sources.values()):
            with r.inside(r.root, r.outermost):
                item.symbol = r.outermost.names[name] = enum_symbol(r, item, name)
                r.module.add(item.symbol, item.name.span)
                visit_items(r, [item])


def library_tool(r: Resolver, name: str) -> Symbol | None:
    """Return the tool `std::tools::NAME`, which is declared when a program first names it; None if there is none of that name."""
    if name in GUARDS and name not in r.library:
        item = next(item for item in parse(Source(LIBRARY, TOOLS), Diagnostics()).items if _is_tool(item, name))
        assert isinstance(item, ast.Tool)
        with r.inside(r.root, r.outermost):
            symbol = tool_symbol(r, item)
            symbol.guards = GUARDS[name]
            for method in symbol.impl.methods:
                # Of no module: visible everywhere.
                method.home = None
            item.symbol = r.library[name] = symbol
            r.module.add(symbol, item.name.span)
            visit_items(r, [item])
    return r.library.get(name)


def enum_parse(r: Resolver, owner: EnumSymbol) -> Symbol | None:
    """Return `E::parse(text) -> E?` of an enum of unit variants alone (L-3.10.6), which is declared at the first call unless the
    enum has a `parse` of its own, which comes back then; None for other enums, those with type parameters or without variants
    among them."""
    if not owner.variants or owner.declaration.type_parameters or any(member.form != "unit" for member in owner.members):
        return None
    members = r.module.members.setdefault(owner, {})
    if "parse" not in members:
        arms = "".join(f'"{name}" => Self::{name}, ' for name in owner.variants)
        text = f"impl E {{ fn parse(text: String) -> Self? {{ match text {{ {arms}_ => nil }} }} }}"
        (item,) = parse(Source(LIBRARY, text), Diagnostics()).items
        assert isinstance(item, ast.Impl) and isinstance(item.target, ast.NamedType)
        item.target.binding = owner  # its name may stand in a block that is seen from nowhere else
        impl = item.symbol = ImplSymbol(owner.name, item, owner, ANY)
        (node,) = item.methods
        function = node.symbol = FunctionSymbol(node.name.text, node, [], NIL, impl)
        impl.methods.append(function)
        members["parse"] = [function]
        r.module.impls.append(impl)
        r.module.add(function, node.name.span)
        with r.inside(r.root, r.outermost), r.block() as scope:
            scope.names["Self"] = owner
            resolve_function(r, node)
    return members["parse"][0]


def _is_tool(item: ast.TopLevel, name: str) -> bool:
    return isinstance(item, ast.Tool) and item.name.text == name
