"""The conformance suite: programs with expectations, a scripted world, a protocol that any implementation speaks.

Nothing in this package imports an implementation (C-1.2); what it knows of one it reads from the driver's answers.
"""
