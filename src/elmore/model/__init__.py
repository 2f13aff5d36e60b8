"""Ids to token vectors to layers to mix: the network in PyTorch. Tensors only, no strings."""
