"""The embedded world: facts, text about them, datasets, a tokenizer and small models really trained on it.

`build_world` writes the datasets and `place` a model that the repository ships into the hub folder; `build_texts` and
`train_model` make what is shipped again; `build_faulty_models` makes what a leaderboard must refuse.
"""
