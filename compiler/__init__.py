"""The compiler: from source text to an image. Of `vm/` it may use only what says what programs are made of: bytecode, signatures
of built-ins, values, schemas, panics, and the tables of fields, providers and memory steps (`ALLOWED` in
`tests/test_architecture.py` is the list); it knows nothing of `runtime/`. Nothing is imported here: `pipeline.py` has the order
of the phases, from which to read on."""
