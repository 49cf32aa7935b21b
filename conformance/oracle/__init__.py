"""The second evaluator (C-12.1): written from the specification, over the parser's tree and no more.

`values` knows what values are, `types` what is expected where the meaning depends on it, `scopes` what names denote;
`places`, `calls` and `evaluate` turn the tree into nested Python functions; `library` has what programs find declared.
`drivers/oracle.py` takes `Evaluator` and `Program`; nothing else uses them.

Not covered, so that it fails: declarations of models and the like, concurrency, how much fuel is used; diagnostics
never, for a program is taken to be well-typed.
"""
