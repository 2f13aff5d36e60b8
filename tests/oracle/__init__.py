"""A literal NumPy ELMo, written from its equations: what the other tests compare against."""
