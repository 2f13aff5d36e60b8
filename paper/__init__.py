"""The paper's results, and others like them, one file each; each is a command: `python -m paper.X`.

They read public data that the project does not carry; `--data` says where it lies.
"""
