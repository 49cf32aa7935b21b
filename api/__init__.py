"""The host API behind `import concerto` (O-9.5, O-9.6): programs, sessions, options, results and values. The package's root
imports the public names from here lazily; the command line does not use this package."""
