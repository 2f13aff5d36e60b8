"""The network in NumPy and C kernels: ids to token vectors to layers, and what reads texts."""
