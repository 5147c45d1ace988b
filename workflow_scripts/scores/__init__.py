"""Tidy scores: one row per number, from records and from other people's files.

`tidy.collect_scores` gathers the scores of a study with the errors of its shared items (`influences.item_errors`),
`merge` those of all studies. `imported.read_imported` reads CSV, `foreign.imports.import_results` the
folders of lm-eval, lighteval and Every Eval Ever, `panel.read_panel_scores` the panel on which models are placed.
"""
