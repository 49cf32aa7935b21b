"""The tables of declaration kinds, of the image and of the compiler, speak of the same sections (O-10.2, V-3.2)."""

from __future__ import annotations

from concerto.cli.inspect import facts_of
from concerto.compiler.checker.declaration_checks import CHECKS as CHECKS_OF_SYMBOLS
from concerto.compiler.codegen.program import ENTRIES
from concerto.compiler.declaration_kinds import KINDS
from concerto.compiler.pipeline import compile_source
from concerto.compiler.symbols import ToolSymbol
from concerto.vm.bytecode.declarations import DECLARATIONS, DECLARED_SECTIONS
from concerto.vm.bytecode.encoding import encode
from concerto.vm.bytecode.image import SECTIONS, Record
from concerto.vm.bytecode.opcodes import BY_NAME
from concerto.vm.bytecode.verify_tables import CHECKS as CHECKS_OF_ENTRIES
from concerto.vm.values import handles

OTHER_SECTIONS = {"header", "constants", "types", "functions", "tests", "exports", "source_map", "names", "source", "libraries"}
PLAIN = {"name", "fields", "decorators"}  # plain data, whose shape is all that can be wrong
NO_DECLARATIONS = {
    handles.ModelBuilder, handles.TaskHandle, handles.Stream, handles.TypedStream, handles.ItemStream, handles.HostStream
}  # fmt: skip
# A schema is a type, with entries for its type arguments; a function of Python is a function, with an entry beside it.
WITHOUT_SYMBOL = {"schemas", "externs"}


def test_every_section_with_names_is_one_of_a_kind() -> None:
    named = {name for name, record in SECTIONS if record is not None and issubclass(record, Record)} - OTHER_SECTIONS
    assert set(DECLARED_SECTIONS) == named == {name for name, _ in SECTIONS} - OTHER_SECTIONS


def test_the_compiler_fills_every_section() -> None:
    sections = {kind.section for kind in KINDS.values()}
    assert sections | WITHOUT_SYMBOL == set(DECLARED_SECTIONS)
    assert KINDS.keys() == ENTRIES.keys() | {ToolSymbol} <= CHECKS_OF_SYMBOLS.keys()


def test_what_an_entry_holds_is_verified() -> None:
    name_only = {section for section, record in SECTIONS if record is not None and set(record.__slots__) <= PLAIN}
    assert set(DECLARED_SECTIONS) - name_only == CHECKS_OF_ENTRIES.keys()


def test_inspect_shows_every_section() -> None:
    image = compile_source(b"fn main() {}", "main.conc").image
    assert image is not None
    shown = {"mcp" if fact == "servers" else fact for fact in facts_of(image, encode(image))}
    assert set(DECLARED_SECTIONS) <= shown


def test_the_instruction_of_a_kind_names_an_entry_of_its_section() -> None:
    opcodes = {kind.section: kind.opcode for kind in KINDS.values()} | {"schemas": "SCHEMA", "externs": ""}
    for kind in DECLARATIONS:
        assert bool(opcodes[kind.section]) == bool(kind.handles)
        assert not kind.handles or BY_NAME[opcodes[kind.section]].kind.table == kind.section


def test_every_class_of_handles_is_of_one_kind() -> None:
    classes = [handle for kind in DECLARATIONS for handle in kind.handles]
    named = {cls for cls in vars(handles).values() if isinstance(cls, type) and getattr(cls, "type_name", "")}
    assert len(classes) == len(set(classes)) and set(classes) == named - NO_DECLARATIONS
