"""What names denote.

The resolver and checker make these records and hang them on the annotation fields of `ast`; codegen reads them and decides
nothing about names or types itself. Must not know: bytecode.
"""

from .items import *
from .memory import *
from .names import *
from .orchestration import *
