"""The Harmony study: models ranked on tasks as they are and after training on each.

Its tables are those of `studies.ranking` for the grid of the run. `make_harmony_tab` makes the tab of the leaderboard
page, `HARMONY` names the numbers of the report's chapter, `compare_harmony` and `compare_cells` hold ours against the
published ones.
"""
