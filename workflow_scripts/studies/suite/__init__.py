"""The leaderboard: submitted models on a suite of tasks.

`submissions` prepares and writes the check of requests; `leaderboard`, `checks` and `requests` make the tables, `board`
the page's tab, and `chapter` the numbers of the report.
"""
