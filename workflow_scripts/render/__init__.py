"""Rendering of results: tables, figures, named numbers in text, and web pages.

A study's script calls `write_table` (CSV, Markdown, LaTeX) and `open_figure` (PDF, PNG); `text` formats numbers. A
chapter of the report has named `Values`, which `render_prose` prints in a template.
`verdict` compares a published number with ours. `web` has the code that web pages share.
"""
