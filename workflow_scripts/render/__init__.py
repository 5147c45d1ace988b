"""Results for readers: tables, figures, named numbers in prose, pages.

A script of a study calls `write_table` (CSV, Markdown, LaTeX) and `drawing` (PDF, PNG); `text` formats numbers. A
chapter of the report is a `Study`: values by name, printed in a template by `render_prose`.
`verdict` compares a published number with ours. `web` has what the pages share.
"""
