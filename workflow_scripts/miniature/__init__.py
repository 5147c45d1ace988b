"""Generate the demo: facts, text, datasets, a tokenizer, and small models trained on them.

`build_world` writes the datasets into the hub folder, `place` a shipped model, and `build_faulty_models` models that
the leaderboard must refuse; `build_texts` and `train_model` rebuild the shipped tokenizer and models.
"""
