"""Text to a trained model folder."""
