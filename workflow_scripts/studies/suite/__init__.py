"""Make the leaderboard of submitted models on a suite of tasks.

`submissions` checks the requests, and `submit` prints their status; `leaderboard` and `requests` make the
tables, `board` makes the page's tab, and `chapter` computes the numbers of the report.
"""
