"""Rules about the names of locals, which an image may leave out (V105, V122, V125; V-3.9).

After them every row names a slot or cell its function has, between two instructions of it. Hands on `check_name_table` and
`check_names`. Must not know: whether a variable has a value there.
"""

from __future__ import annotations

from .names import is_identifier
from .rules import refuse
from .scope import place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .image import Image
    from .scope import Code


def check_name_table(image: Image) -> None:
    if len(image.names) not in (0, len(image.functions)):
        refuse("V122", "names", f"{len(image.names)} entries for {len(image.functions)} functions")


def check_names(image: Image, number: int, code: Code) -> None:
    """The rows of one function."""
    function = image.functions[number]
    ends = {*code.index_of, len(function.code)}
    for name, where, start, end in image.names[number] if number < len(image.names) else ():
        at = place(function, f"name {name!r}")
        if not is_identifier(name):
            refuse("V125", at, "it is no identifier")
        if where >= function.slots + function.cells:
            refuse("V105", at, f"place {where} of {function.slots} locals and {function.cells} cells")
        if start >= end or start not in code.index_of or end not in ends:
            refuse("V122", at, f"{start}..{end} does not lie on instructions of the function")
