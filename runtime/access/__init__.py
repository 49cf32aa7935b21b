"""What the outside may be reached by, and what of it may be shown: addresses, files, permissions, secrets."""
