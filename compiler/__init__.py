"""The compiler: from source text to an image. Of `vm/` it may use only the data: bytecode, signatures of built-ins, values,
schemas and codes of panics; it knows nothing of `runtime/`. Nothing is imported here: `pipeline.py` has the order of the phases,
from which to read on."""
