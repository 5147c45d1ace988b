"""Tabulate the training study: `stages` makes the table of perplexities after each stage, and the loss curves."""
