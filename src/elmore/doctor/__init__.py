"""Statistics of a text and the cost of training on it, before training."""
