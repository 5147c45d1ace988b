"""Read external result files: lm-eval, lighteval and Every Eval Ever.

`result_folders.read_folder` reads a folder with the reader for its format into `cells.ImportedCell`s and their items.
"""
