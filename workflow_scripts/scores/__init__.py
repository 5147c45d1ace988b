"""Tidy scores, one row per number, from records and imported files.

`tidy.collect_scores` collects a study's scores and their standard errors from shared items
(`influences.compute_item_errors`), also of result folders of lm-eval, lighteval and Every Eval Ever
(`foreign.result_folders.read_folder`). `merge` combines all studies, `imported.read_imported` reads CSV files and
`panel.read_panel_scores` reads the panel of reference models.
"""
