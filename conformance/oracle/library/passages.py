"""`std::text` (O-1.242 to O-1.244): a text as passages.

Hands on to `table`, which files them, the signatures TEXT with their functions, and the RECORD. Every position is asked anew
what ends there, so that this is slow and plain.
"""

import re

from ..scopes import DECLARED
from ..values import WHITE, Any, Arr, Panic, Rec, stop

BREAK, SPAN = 9, 8
CLOSERS = "\"'”’»›)]}*_`）］」』】〉》"
SHORT = "mr mrs ms dr prof sr jr st vs fig eq vol pp cf approx ca bzw hr fr mme".split()
