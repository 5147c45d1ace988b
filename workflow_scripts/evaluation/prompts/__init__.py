"""Prompt runs: questions asked as a run's file says, outputs kept, answers read and judged."""
