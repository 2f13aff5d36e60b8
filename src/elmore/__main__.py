"""`python -m elmore`, and so `torchrun -m elmore`: the command line."""

from elmore.cli.main import main

main()
