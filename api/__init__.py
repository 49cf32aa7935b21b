"""The host API behind `import concerto` (O-9.5, O-9.6). Must not know: the command line."""
