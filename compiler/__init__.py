"""The compiler: from source text to an image. Of `vm/` it may use only the data: bytecode, signatures of built-ins, values,
schemas and codes of panics; it knows nothing of `runtime/`."""
