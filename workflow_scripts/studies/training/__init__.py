"""Tabulate the training study: perplexity after each stage (`stages`), and the loss curves (`curves`).

`requests.list_text_names` names the texts that are read.
"""
