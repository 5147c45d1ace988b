"""The Harmony study: models ranked on tasks zero-shot and after training on each task.

Its tables are those of `studies.ranking` for the run's grid. `make_harmony_tab` builds the tab of the leaderboard
page, `chapter` computes the numbers of the report's chapter, `compare_harmony` and `compare_cells` compare our scores
with the published ones.
"""
