"""The rules of the verifier (G-4.3): code and text of each, and the one function that refuses an image.

Hands on `RULES`, `LOADING` and `NOT_APPLICABLE` to the reference page, and to the checks (`verify.py`, `verify_code.py`,
`verify_tables.py`) `refuse`, `place`, `decoded`, `MOST_VISITS`, `DEEPEST_TYPE`, `HEAVIEST_TYPE`, `Scope` (the tables of one
image), `Code` (the decoded instructions of a function) and the type `Effect` (what an instruction does to the stack). `refuse`
enforces the rules of RULES only: the tests take one out at a time and see what is then accepted. Whether an image breaks a rule
is found by the checks, not here; a new rule is a row of RULES and a check that refuses by its code.
"""

from __future__ import annotations

from . import image as i
from .declarations import DECLARED_SECTIONS
from .encoding import scan
from .image import ImageError
from .shape import field_count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from .image import Limits


RULES: dict[str, str] = {
    "V101": "opcodes are known",
    "V102": "operands have their form and width",
    "V103": "a constant operand is an index of a constant of the right kind",
    "V104": "a local operand is a slot of the function, and parameters have slots",
    "V105": "a cell operand is a cell of the function, captures are cells of the function that makes the closure",
    "V106": "a function operand is a function of the image",
    "V107": "types, fields and variants exist, and types nest through declared ones only, within their limits",
    "V108": "a declaration operand is a declaration of the right kind",
    "V109": "a jump target starts an instruction of the function",
    "V110": "control cannot run off the end",
    "V111": "the stack holds what an instruction pops",
    "V112": "the stack is no deeper than declared, and what is declared is within the limits",
    "V113": "stack depths are equal where paths join, and 1 at a return",
    "V114": "stack positions hold equal kinds where paths join",
    "V115": "a local or cell is assigned on every path before its use",
    "V116": "iterators are used by iterator instructions only",
    "V117": "handler ranges are nested, inside the function, with a depth that holds in them",
    "V119": "argument counts are those of the callee",
    "V120": "a function that may suspend says so",
    "V122": "the line table is ascending and complete, names of locals lie on instructions",
    "V123": "entry functions take no parameters",
    "V125": "names are identifiers, text is valid Unicode",
    "V126": "an instruction is visited at most 32 times, and instructions are within the limit",
}

# What loading refuses before any rule is asked (G-3.1).
LOADING: dict[str, str] = {
    "V001": "the file is larger than the limit, or too small to hold an image",
    "V002": "the file does not begin as an image",
    "V003": "the image needs another version of the format, the opcode set or the standard library",
    "V004": "the hash does not fit the content",
    "V005": "the host trusts other images only",
    "V006": "the content cannot be decoded",
    "V007": "the content is not in canonical form",
    "V008": "a section has another shape",
}

NOT_APPLICABLE: dict[str, str] = {
    "V118": "handlers are ranges of code, not marks on the stack: none can be open at a return",
    "V121": "the opcode set has no branch tables",
    "V124": "no instruction of the opcode set reaches a permission",
}

MOST_VISITS = 32  # of one instruction (V126)
DEEPEST_TYPE = 300  # levels of a type: the compiler's 264 (G-5.8), and some for what code adds around it
HEAVIEST_TYPE = 6_000  # types that one type is made of: the compiler's 5,000, and likewise some more


def refuse(code: str, place: str, what: str) -> None:
    """Raise ImageError for an image that breaks the rule `code`: its message is `place`, where in the image, `what`, what is
    wrong there, and the text of the rule (V-4.2). Do nothing for a code that is not in RULES, as when a test has taken it out:
    the caller must be able to go on."""
    if code in RULES:
        raise ImageError(code, f"{place}: {what} (rule: {RULES[code]})")


# ----------------------------------------------------------------
# What the rules look things up in: the tables of one image in the form the verifier asks them (G-4.2).

if TYPE_CHECKING:
    Effect = tuple[int, int, int, int]  # values popped, values pushed, role in the block (opcodes.py), whether it ends a block

_RECORD_FIELDS = 16  # no built-in record has more fields (L-6.9)


class Scope:
    """The tables of one image, and the state of its verification. `builtins`, `performed`: numbers of arguments, receiver and
    schema included, of the built-ins that the machine does and of those that the host does, by (receiver kind or "", name).
    `sizes`: number of entries by section, of functions, types and declarations. `kinds`: the kind of each constant. `parameters`:
    how many each function has. `captured`: the lowest number that is above all cells which each function captures. `fields`: how
    many each type has, None for a type without. `most_fields`: no type, and no built-in record, has a field at this position or a
    later one. `models`: the names of all. `views`: the memories that were found to lead to a log, logs included. `logs`: the
    memory whose log each one shows; [] until that is asked for. `instructions_left`: instructions that the limit still allows.
    `effects`: the stack effects of the (opcode number, operand) pairs that kept all rules that hold in every function."""

    __slots__ = (
        "image", "builtins", "performed", "limits", "sizes", "kinds", "parameters", "captured", "fields", "most_fields",
        "models", "views", "logs", "instructions_left", "effects", "_captures",
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
        self.sizes = {section: len(getattr(image, section)) for section in ("functions", "types", *DECLARED_SECTIONS)}
        self.kinds = [kind for kind, _ in image.constants]
        self.parameters = [len(function.params) for function in image.functions]
        self.captured = [max(function.captures, default=-1) + 1 for function in image.functions]
        self.fields = [field_count(descriptor) for descriptor in image.types]
        self.most_fields = max([_RECORD_FIELDS, *(count for count in self.fields if count is not None)])
        self.models = {model.name for model in image.models}
        self.views: set[i.Memory] = set()
        self.logs: list[i.Memory] = []
        self.instructions_left = limits.instructions
        self.effects: dict[tuple[int, int], Effect] = {}
        self._captures: dict[int, int] = {}

    def payload(self, constant: int) -> int:
        """Return how many parts the variant has that constant number `constant`, of kind K_VARIANT, names; 0 where there is no
        such variant."""
        type_index, variant = self.image.constants[constant][1]
        types = self.image.types
        if type_index >= len(types) or types[type_index][0] != "enum" or variant >= len(types[type_index][2]):
            return 0
        return len(types[type_index][2][variant][1])

    def captures(self, number: int) -> int:
        """Return a bit mask of the cells that function `number` captures; 0 where there is no such function. Its size is that of
        the largest number of a cell: the rules on a closure's cells come first."""
        if number not in self._captures:
            mask = 0
            for cell in self.image.functions[number].captures if number < len(self.image.functions) else ():
                mask |= 1 << cell
            self._captures[number] = mask
        return self._captures[number]


class Code:
    """The decoded instructions of one function, as (offset in bytes, opcode number, operand). `index_of`: index of an instruction
    by its offset."""

    __slots__ = ("instructions", "index_of")

    def __init__(self, instructions: list[tuple[int, int, int]]) -> None:
        self.instructions = instructions
        self.index_of = {instruction[0]: index for index, instruction in enumerate(instructions)}


def place(function: i.Function, what: str = "") -> str:
    """Return the place for `refuse` of a function, or of `what` inside it."""
    return f"function `{function.name}`{', ' if what else ''}{what}"


def decoded(scope: Scope, function: i.Function) -> Code:
    """Return the instructions of a function, and take their number off `scope.instructions_left`. Raises ImageError V101, V102 or
    V126."""
    instructions, fault = scan(function.code, scope.instructions_left)
    if fault is not None:
        refuse(fault.code, place(function), fault.message)
    scope.instructions_left -= len(instructions)
    return Code(instructions)
