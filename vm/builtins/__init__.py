"""Built-in functions and methods of the language: one row each (V-2.8, language.md 6).

Importing this package fills the tables of `registry`; the functions of `std::` follow module by module, when `std_row` or
`std_module` first asks for one. The compiler and the language server read signatures there, the machine bodies.

Hands on what its users need of three files: of `registry.py` the tables METHODS, ASSOCIATED, FUNCTIONS and KIND_OF, `Row`,
`lookup` and `method_names`, of `modules.py` the modules of `std::` (STD_MODULES, STD_TYPES, `std_module`, `std_row`), of
`signatures.py` REQUIRED and the rest of the parsed form of a signature (`Signature`, `Parameter`, `parse_signature`,
`parse_type`), which the compiler and this package take from that file itself. What each promises stands there; no built-in is
written here, and none is run. A new built-in is a decorated function, or a text for `prelude`, in the file of its kind
(CONTRIBUTING.md).
"""

from __future__ import annotations

from . import arrays as arrays
from . import bytes as bytes
from . import handles as handles
from . import hashmaps as hashmaps
from . import indexes as indexes
from . import ledgers as ledgers
from . import maps as maps
from . import memories as memories
from . import models as models
from . import numbers as numbers
from . import options as options
from . import ranges as ranges
from . import records as records
from . import strings as strings
from .modules import STD_MODULES, STD_TYPES, std_module, std_row
from .registry import ASSOCIATED, FUNCTIONS, KIND_OF, METHODS, Row, lookup, method_names
from .signatures import REQUIRED, Parameter, Signature, parse_signature, parse_type

__all__ = [
    "ASSOCIATED",
    "FUNCTIONS",
    "KIND_OF",
    "METHODS",
    "REQUIRED",
    "Parameter",
    "Row",
    "STD_MODULES",
    "STD_TYPES",
    "Signature",
    "lookup",
    "method_names",
    "parse_signature",
    "parse_type",
    "std_module",
    "std_row",
]
