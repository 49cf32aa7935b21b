"""The conformance suite: programs with expectations, a scripted world, a protocol that any implementation speaks.

`command.py` is what `run.py` does, and `concerto conformance` takes `suite`, `runner`, `report` and `verdicts`. The runner
imports no implementation (C-1.2); what it knows of one it reads from the answers of a driver. Of this package only the driver of
this implementation (`drivers/concerto.py`, `drivers/asking.py`) imports the product, and the second evaluator (`oracle/`) the
tree of its compiler.
"""
