"""Whether an image is one that the host trusts: signatures in minisign's form, and the levels of trust (G-1.2, G-3.6).

This file has no names. `levels.py` says what a host demands of an image and compares it, for the Python API and the command line;
`minisign.py` has keys and signatures, for `levels.py` and the commands that make them. No image is decoded here."""
