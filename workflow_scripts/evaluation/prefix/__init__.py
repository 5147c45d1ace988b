"""Scores and continues token sequences, reading what they share once."""
