"""Built-in functions and methods of the language: one row each (V-2.8, language.md 6).

Hands on the complete tables; importing this package fills them. The compiler reads signatures here, the machine bodies.
"""

from __future__ import annotations

from . import arrays as arrays
from . import bytes as bytes
from . import handles as handles
from . import maps as maps
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
