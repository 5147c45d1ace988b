"""Readers of other people's result files: lm-eval, lighteval and Every Eval Ever.

`imports.import_results` reads a folder by the reader that knows its files, and writes the `cells.ImportedCell`s.
"""
