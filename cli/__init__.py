"""The command line `concerto` (section 9.2 of docs/spec/orchestration.md). `main.py` finds the verb, `verbs.py` is the table of
them, and each is a module of its own. Nothing is imported here: the start of a command is measured."""
