"""Generate the demo: facts, text, datasets, a tokenizer, and small models trained on them.

`build_world` writes the datasets and `place` a shipped model into the hub folder; `build_texts` and `train_model`
rebuild the shipped tokenizer and models; `build_faulty_models` builds models that the leaderboard must refuse.
"""
