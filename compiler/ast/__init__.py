"""The abstract syntax tree.

Built by the grammar, read by every later phase. Each node carries its exact span. Fields made by `annotation` are empty after
parsing and are filled by the checker; nothing else changes a tree.
Must not know: tokens, types' rules, bytecode.
"""

from .blocks import *
from .concurrency import *
from .declarations import *
from .expressions import *
from .memory import *
from .nodes import *
from .orchestration import *
from .patterns import *
from .programs import *
from .statements import *
from .types import *
