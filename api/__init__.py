"""import concerto: the public face. For now the version; programs run through the command `concerto`."""

__version__ = "0.1.0"
