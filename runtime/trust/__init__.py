"""Whether an image is one that the host trusts: signatures in minisign's form, and the levels of trust (G-1.2, G-3.6)."""
