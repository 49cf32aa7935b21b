"""The host API behind `import concerto` (O-9.38 to O-9.47): programs, sessions, options, results and values. The package's root
imports the public names from here lazily. `batches/` and `serve/` are built on it, and some verbs of the command line take parts
of it; `concerto run` makes the runtime's session without it. What a program does is decided below, in `runtime/` and `vm/`."""
