"""`python -m elmore` is `elmore`."""

from elmore.cli.main import main

if __name__ == "__main__":
    main()
