"""Fill and read the hub folder: models and datasets, fetched or generated once, that every job reads offline.

`fetch` downloads a model or dataset at its locked commit, `write_manifest` writes its manifest, `lock_hub`
freezes commits. `load_model` loads a model by its manifest, `build_chunked` builds a chunked checkpoint from
it. `mirror` redirects `datasets.load_dataset` to the hub folder, `load_tasks` loads lm-eval's tasks.
`look_up_row` finds the rows that the tables of models and tasks lack.
"""
