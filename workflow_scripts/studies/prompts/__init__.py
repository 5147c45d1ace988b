"""Tabulate the prompt study: MMLU under many prompts.

`runs` makes the table and the figure, `chapter` computes the numbers of the report, and `published` compares our runs
with published ones.
"""
