"""The command line: one verb a file, each a thin wrapper. Heavy imports stay inside the verbs."""
