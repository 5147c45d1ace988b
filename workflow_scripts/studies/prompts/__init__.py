"""The prompt study: MMLU under many prompts.

`runs` makes the table and the figure, `board` the leaderboard's tab, `chapter` the numbers of the
report, and `published` compares with published runs.
"""
