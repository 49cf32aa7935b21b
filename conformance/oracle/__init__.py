"""The second evaluator (C-12.1): written from the specification, over the parser's tree and nothing else of the implementation.

`types` knows what a value is expected to be where the meaning depends on it, `values` what values are, `members` the built-in
methods, `patterns` and `evaluate` turn the tree into nested Python functions, `program` runs a whole program.

Not covered, answered by `NotClaimed`: generics, traits, impls, enums with payload, modules, `use`, `std`, declarations of models
and the like, concurrency, tests, diagnostics (a program is taken to be well-typed), limits other than call depth.
"""
