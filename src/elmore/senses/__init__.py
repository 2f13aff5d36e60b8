"""What vectors in context tell of words: which occurrences mean the same, and how that looks."""
