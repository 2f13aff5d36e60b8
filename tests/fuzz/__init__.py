"""Damaged files for every reader: each is refused by an ElmoreError, or what is read is right."""
