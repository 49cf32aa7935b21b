"""Serving beside what people write by hand: `python -m benches.serving.streams`."""
