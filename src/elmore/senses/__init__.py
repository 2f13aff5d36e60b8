"""Word senses by contextual vectors: neighbours, sense induction, semantic change, probes."""
