"""The verifier: no image runs before it has passed (V-4.1).

`verify(image, builtins)` checks the tables, then each function, with a bounded number of visits to each instruction. It returns a
`Verified`, which the linker keeps for whoever reads code later: the `FunctionFacts` of each function (decoded instructions, the
depth of the stack before each, block leaders). It changes nothing in the image. The rules stand in `rules.py`; what is checked of
the tables in `verify_tables.py`, of code in `verify_code.py`, of the names of locals here. An image must have its shape
(`shape.py`) before it comes here. Each check raises ImageError with the code of a rule that is broken; it returns nothing, but
`check_operands` the stack effects of the instructions.
"""

from __future__ import annotations

from .image import DEFAULT, Limits, is_identifier
from .rules import Scope, decoded, place, refuse
from .verify_code import StackMap, check_operands
from .verify_tables import check_function_tables, check_schemas, check_tables, check_tools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .image import Image
    from .rules import Code


# ----------------------------------------------------------------
# Rules about the names of locals, which an image may leave out (V105, V122, V125; V-3.9).
#
# After them every row names a slot or cell its function has, between two instructions of it.


def check_name_table(image: Image) -> None:
    """Check that there are names of locals for every function or for none (V122)."""
    if len(image.names) not in (0, len(image.functions)):
        refuse("V122", "names", f"{len(image.names)} entries for {len(image.functions)} functions")


def check_names(image: Image, number: int, code: Code) -> None:
    """Check the names of locals of function `number` (V105, V122, V125)."""
    function = image.functions[number]
    ends = {*code.index_of, len(function.code)}
    for name, where, start, end in image.names[number] if number < len(image.names) else ():
        at = place(function, f"name {name!r}")
        if not all(map(is_identifier, name.split("."))):
            refuse("V125", at, "it is no identifier, nor a slot of one")
        if where >= function.slots + function.cells:
            refuse("V105", at, f"place {where} of {function.slots} locals and {function.cells} cells")
        if start >= end or start not in code.index_of or end not in ends:
            refuse("V122", at, f"{start}..{end} does not lie on instructions of the function")


_FROM_VERIFIER = object()
NOTHING: Mapping[tuple[str, str], int] = {}


class FunctionFacts:
    """What verification has computed of one function. `instructions`: (offset in bytes, opcode number, operand). Beside each of
    them stand in `depths` the depth of the stack before it, -1 where control never arrives, and in `iterators` a bit mask of the
    stack positions that hold iterators then. `leaders`: the indexes that begin a basic block, in order. `index_of`: index by
    offset. `handlers`: by index, for an instruction that may throw inside the range of a handler, that of the innermost one: the
    index of its target and the depth of the stack that it keeps."""

    __slots__ = ("instructions", "depths", "iterators", "leaders", "index_of", "handlers")

    def __init__(
        self,
        instructions: list[tuple[int, int, int]],
        depths: list[int],
        iterators: list[int],
        leaders: list[int],
        index_of: dict[int, int],
        handlers: dict[int, tuple[int, int]],
    ) -> None:
        self.instructions = instructions
        self.depths = depths
        self.iterators = iterators
        self.leaders = leaders
        self.index_of = index_of
        self.handlers = handlers


class Verified:
    """An image that has passed the verifier, and the facts of its functions in order. Only `verify` can make one, so whoever
    holds one need not check again; other code that tries gets TypeError."""

    __slots__ = ("image", "functions")

    def __init__(self, image: Image, functions: tuple[FunctionFacts, ...], key: object) -> None:
        if key is not _FROM_VERIFIER:
            raise TypeError("only the verifier makes a Verified")
        self.image = image
        self.functions = functions


def verify(
    image: Image,
    builtins: Mapping[tuple[str, str], int],
    limits: Limits = DEFAULT,
    *,
    performed: Mapping[tuple[str, str], int] = NOTHING,
) -> Verified:
    """Return the image with the facts of its functions. Raises ImageError V1xx for the first rule that it breaks, with its place.
    `builtins` has the number of arguments, receiver and schema included, by (receiver kind, type, `std::module` or "", then the
    name); `performed` has the same of what the host does. The linker hands in `ARITY` and `PERFORMED` of
    `vm/builtins/modules.py`, which stands above this folder."""
    scope = Scope(image, builtins, performed, limits)
    check_tables(scope)
    check_name_table(image)
    check_schemas(image)
    check_tools(image)
    return Verified(image, tuple(_function(scope, number) for number in range(len(image.functions))), _FROM_VERIFIER)


def _function(scope: Scope, number: int) -> FunctionFacts:
    function = scope.image.functions[number]
    code = decoded(scope, function)
    check_function_tables(scope, function, code)
    check_names(scope.image, number, code)
    stack = StackMap(scope, function, code, check_operands(scope, function, code))
    stack.run()
    return FunctionFacts(code.instructions, stack.depths, stack.iterators, stack.leaders(), code.index_of, stack.handlers)
