"""Generate the demo: facts, text, datasets, a tokenizer, and small models trained on them.

`build_world` writes the hub folder: generated datasets and the shipped models.
`build_texts` and `train_model` rebuild the shipped tokenizer and models.
"""
