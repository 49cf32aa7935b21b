"""The benches: Concerto programs against hand-written Python twins, and operations against their targets (V-8).

Must not know: how the machine works inside; a bench goes through the same doors as the command line and the host API.
"""
