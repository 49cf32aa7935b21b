"""The verifier: nothing runs before it has passed (V-4.1).

`verify(image, builtins)` checks the tables, then each function in one linear pass, and hands on a `Verified`, which
also holds what the pass found out: decoded instructions, the stack before each, block leaders. Must not know: bytes
of images, execution.
"""

from __future__ import annotations

from .flow import StackMap
from .limits import DEFAULT, Limits
from .name_rules import check_name_table, check_names
from .operand_rules import check_operands
from .schema_rules import check_schemas, check_tools
from .scope import Scope, decoded
from .tables import check_function_tables, check_tables

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .image import Image

_FROM_VERIFIER = object()
NOTHING: Mapping[tuple[str, str], int] = {}


class FunctionFacts:
    """What verification found out about one function; all lists run parallel to `instructions`.

    `instructions`: (offset, opcode number, operand). `depths`: stack depth before each, -1 where control never arrives.
    `iterators`: bit mask of the stack positions that hold iterators. `leaders`: indexes that begin a basic block.
    `index_of`: instruction index by offset.
    """

    __slots__ = ("instructions", "depths", "iterators", "leaders", "index_of")

    def __init__(
        self,
        instructions: list[tuple[int, int, int]],
        depths: list[int],
        iterators: list[int],
        leaders: list[int],
        index_of: dict[int, int],
    ) -> None:
        self.instructions = instructions
        self.depths = depths
        self.iterators = iterators
        self.leaders = leaders
        self.index_of = index_of


class Verified:
    """An image that has passed the verifier; only `verify` can make one."""

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
    """`builtins`: number of arguments, receiver included, per (receiver kind or "", name); `performed`: the same of what the
    host does. ImageError V1xx."""
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
    return FunctionFacts(code.instructions, stack.depths, stack.iterators, stack.leaders(), code.index_of)
