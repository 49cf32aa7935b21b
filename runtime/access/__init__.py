"""What the outside may be reached by, and what of it may be shown: addresses, messages of HTTP, files, permissions, secrets."""
