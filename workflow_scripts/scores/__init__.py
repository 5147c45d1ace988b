"""Tidy scores: one row per number, from records and from other people's files."""
