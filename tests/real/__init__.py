"""Tests with real weights and real questions; `--real-hub` is their hub folder."""
