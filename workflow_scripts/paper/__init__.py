"""Outputs over all studies: the report, the leaderboard page, the reproduction tables, and shared files.

Each script belongs to a rule of rules/paper.smk: `report` (rule paper: a page, and paper.tex), `reproduction`,
`protocol_differences`, `leaderboard` and `share` (Every Eval Ever).
"""
