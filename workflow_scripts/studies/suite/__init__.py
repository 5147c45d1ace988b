"""The leaderboard: submitted models on a suite of tasks.

`submissions` checks the requests, and `submit` prints their status; `leaderboard` and `requests` make the
tables, `board` the page's tab, and `chapter` the numbers of the report.
"""
