"""Outputs over all studies: the report, the leaderboard page, the reproduction tables, and shared files.

Each script belongs to a rule of rules/paper.smk: `report` (a page, and paper.tex), `collect_numbers`,
`reproduction`, `protocol_differences`, `leaderboard` and `share` (Every Eval Ever).
"""
