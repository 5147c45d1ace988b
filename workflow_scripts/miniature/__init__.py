"""The embedded world: facts, text about them, datasets, a tokenizer and small models really trained on it."""
