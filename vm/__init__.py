"""The machine: the bytecode, what runs it, and the values it works on. Hands on `BEGAN` to the cache of translated code."""

import time

# When this process began to read the sources of this folder, in seconds since 1970: one changed later is not what it runs.
BEGAN = time.time()
