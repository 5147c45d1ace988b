"""The hub folder: fetched or generated once, then read by every job without a network.

`fetch` brings a model or dataset at its locked commit and `seal` writes its manifest; `lock_hub` freezes commits.
`load_model` loads a model by its manifest, `build_chunked` makes a chunked checkpoint of it, `mirror` lets the
harnesses read datasets, `load_tasks` lm-eval's tasks. `look_up_model` and `look_up_task` describe what no table has.
"""
