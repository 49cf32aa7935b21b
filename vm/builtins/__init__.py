"""Built-in functions and methods of the language: one row each (V-2.8, language.md 6).

Importing this package fills the tables of `registry`. The compiler reads signatures there, the machine bodies.
"""

from __future__ import annotations

from . import arrays as arrays
from . import bytes as bytes
from . import handles as handles
from . import hashmaps as hashmaps
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
