"""Tabulate MMLU by subject: `by_subject` makes the table and figure, `published` compares the table.

The chapter on chunked models shows them.
"""
