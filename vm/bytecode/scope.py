"""What the rules look things up in: the tables of one image in the form the verifier asks them (G-4.2).

Hands on `Scope`, and `Code`, the decoded instructions of a function. Must not know: rules.
"""

from __future__ import annotations

from . import image as i
from .code import scan
from .descriptors import field_count
from .rules import refuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .limits import Limits

    Effect = tuple[int, int, int, int]  # values popped, values pushed, role of pictures.py, whether it ends a block

_RECORD_FIELDS = 16  # no built-in record has more fields (L-6.9)


class Scope:
    """`sizes`: entries per index space of operands.py. `fields`: per type its number of fields, or None.
    `builtins`, `performed`: arguments of the built-ins that the machine and that the host does.
    `most_fields`: a field position below it exists in some type. `left`: instructions that may still come."""

    __slots__ = (
        "image", "builtins", "performed", "limits", "sizes", "kinds", "parameters", "fields", "most_fields", "left", "effects",
    )  # fmt: skip

    def __init__(
        self,
        image: i.Image,
        builtins: Mapping[tuple[str, str], int],
        performed: Mapping[tuple[str, str], int],
        limits: Limits,
    ) -> None:
        self.image = image
        self.builtins = builtins
        self.performed = performed
        self.limits = limits
        self.sizes = {
            "functions": len(image.functions),
            "types": len(image.types),
            "models": len(image.models),
            "agents": len(image.agents),
            "hashmaps": len(image.hashmaps),
            "ledgers": len(image.ledgers),
            "memories": len(image.memories),
            "pipelines": len(image.pipelines),
            "schemas": len(image.schemas),
            "tools": len(image.tools),
            "mcp": len(image.mcp),
            "contexts": len(image.contexts),
        }
        self.kinds = [kind for kind, _ in image.constants]
        self.parameters = [len(function.params) for function in image.functions]
        self.fields = [field_count(descriptor) for descriptor in image.types]
        self.most_fields = max([_RECORD_FIELDS, *(count for count in self.fields if count is not None)])
        self.left = limits.instructions
        self.effects: dict[tuple[int, int], Effect] = {}

    def payload(self, constant: int) -> int:
        """Number of parts of the variant that a constant of that kind names; 0 where it names none."""
        type_index, variant = self.image.constants[constant][1]
        types = self.image.types
        if type_index >= len(types) or types[type_index][0] != "enum" or variant >= len(types[type_index][2]):
            return 0
        return len(types[type_index][2][variant][1])


class Code:
    """`index_of`: instruction index by offset."""

    __slots__ = ("instructions", "index_of")

    def __init__(self, instructions: list[tuple[int, int, int]]) -> None:
        self.instructions = instructions
        self.index_of = {instruction[0]: index for index, instruction in enumerate(instructions)}


def place(function: i.Function, what: str = "") -> str:
    return f"function `{function.name}`{', ' if what else ''}{what}"


def decoded(scope: Scope, function: i.Function) -> Code:
    """The instructions of a function: V101, V102, V126."""
    found, fault = scan(function.code, scope.left)
    if fault is not None:
        refuse(fault.code, place(function), fault.message)
    scope.left -= len(found)
    return Code(found)
