"""Tabulate MMLU by subject: `by_subject` makes the table and figure, `numbers` and `published` use the table.

The chapter on chunked models shows them.
"""
