"""What programs find declared (L-6, L-7): signatures in the language itself, and their implementations. `table` files
them for the evaluator; `texts` and `media` have parts of it."""
