"""What a text holds and what training on it will cost, before it is spent."""
