"""ELMo at work: text classification, sequence tagging and sentence pairs on frozen vectors."""
