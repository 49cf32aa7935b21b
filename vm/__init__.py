"""The machine: the bytecode, what runs it, and the values it works on.

Nothing in this folder imports another room of Concerto, and the machine does no input or output: it hands effects to its host,
which `runtime/` is. Hands on `BEGAN` to the cache of translated code (`runtime/session/code_cache.py`), which nobody uses where a
source was changed after it.
"""

import time

# When this process began to read the sources of this folder, in seconds since 1970: one changed later is not what it runs.
BEGAN = time.time()
