"""The biLM's forward and backward passes for training, by kernels on NumPy arrays.

A pass is phases of jobs (see parallel.py): of rows (streams, tokens, words) that do not depend on
each other, then of blocks of weights, each of whose gradients is one sum over all tokens in their
order. So the results have the same bits on any number of threads and any processor.

Weights and their gradients are mappings from the names of a biLM's arrays; a weight without a
gradient is frozen. A weight that changed is to be packed again before the next pass.
"""
