"""The prompt study: MMLU under many prompts.

`runs` makes the table and the figure, `chapter` the numbers of the report, and `published` compares with published
runs.
"""
