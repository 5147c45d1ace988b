"""Tabulate the training study: `stages` makes the table of perplexities after each stage, and the loss curves.

`requests.list_text_names` lists the texts on which perplexity is measured.
"""
