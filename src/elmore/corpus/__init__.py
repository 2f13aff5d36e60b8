"""Files to sentences to a vocabulary to shards of word ids: what a biLM is trained on."""
