"""The tables of declaration kinds, of the image and of the compiler, speak of the same sections (O-10.2, V-3.2)."""

from __future__ import annotations

from dataclasses import fields

from concerto.compiler.checker.program import CheckedProgram
from concerto.compiler.codegen.program import ENTRIES
from concerto.compiler.declaration_kinds import KINDS
from concerto.vm.bytecode.declarations import DECLARATIONS, DECLARED_SECTIONS
from concerto.vm.bytecode.image import SECTIONS, Record
from concerto.vm.bytecode.opcodes import BY_NAME
from concerto.vm.values import handles

OTHER_SECTIONS = {"header", "constants", "types", "functions", "tests", "exports", "source_map", "names", "source"}
NO_DECLARATIONS = {handles.ModelBuilder, handles.TaskHandle, handles.Stream}


def test_every_section_with_names_is_one_of_a_kind() -> None:
    named = {name for name, record in SECTIONS if record is not None and issubclass(record, Record)} - OTHER_SECTIONS
    assert set(DECLARED_SECTIONS) == named == {name for name, _ in SECTIONS} - OTHER_SECTIONS


def test_the_compiler_fills_every_section() -> None:
    sections = {kind.section for kind in KINDS.values()}
    assert sections | {"schemas"} == set(DECLARED_SECTIONS)  # a schema is a type, with entries for its type arguments
    assert set(ENTRIES) | {"tools"} == sections <= {field.name for field in fields(CheckedProgram)}


def test_the_instruction_of_a_kind_names_an_entry_of_its_section() -> None:
    opcodes = {kind.section: kind.opcode for kind in KINDS.values()} | {"schemas": "SCHEMA"}
    for kind in DECLARATIONS:
        assert bool(opcodes[kind.section]) == bool(kind.handles)
        assert not kind.handles or BY_NAME[opcodes[kind.section]].kind.table == kind.section


def test_every_class_of_handles_is_of_one_kind() -> None:
    classes = [handle for kind in DECLARATIONS for handle in kind.handles]
    named = {cls for cls in vars(handles).values() if isinstance(cls, type) and getattr(cls, "type_name", "")}
    assert len(classes) == len(set(classes)) and set(classes) == named - NO_DECLARATIONS
