"""The arithmetic, in C: the same bits on every processor. tools/compile_kernels.py compiles it."""
