"""Readers of external result files: lm-eval, lighteval and Every Eval Ever.

`imports.import_results` reads a folder with the reader for its format and writes `cells.ImportedCell`s.
"""
