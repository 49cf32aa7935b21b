"""import concerto: the public face (compile, load, run, sessions)."""
