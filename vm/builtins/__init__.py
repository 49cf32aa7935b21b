"""Built-in functions and methods of the language: one row each (V-2.8, language.md 6).

Hands on the complete tables; importing this package fills them. The compiler reads signatures here, the machine bodies.
"""

from __future__ import annotations

from . import arrays, functions, handles, maps, numbers, options, ranges, records, strings
from .registry import ASSOCIATED, FUNCTIONS, KIND_OF, METHODS, Row, lookup, method_names
from .signatures import REQUIRED, Parameter, Signature, parse_signature, parse_type

# In the order of the reference page.
CHAPTERS = (functions, numbers, strings, arrays, maps, ranges, options, handles, records)

__all__ = [
    "ASSOCIATED",
    "CHAPTERS",
    "FUNCTIONS",
    "KIND_OF",
    "METHODS",
    "REQUIRED",
    "Parameter",
    "Row",
    "Signature",
    "lookup",
    "method_names",
    "parse_signature",
    "parse_type",
]
