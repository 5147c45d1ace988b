"""Statistics of scores: pure functions of arrays and frames, which import nothing of ours.

`score_errors.ScoreErrors` is the error model that all share: `item_errors` for the items that models have in common,
`reruns.estimate_rerun_errors` for another training, `jackknife.compute_family_jackknife` for families of models. It
is behind the agreement of tasks (`agreement`, `redraws`, `size_bands`), components and ranks
(`principal.principal_components`, `ranks.compute_rank_ranges`, `partial_order`, `missing.complete`), components of
variance (`variance.decompose_variance`), tests (`significance`, `proportions`), and places on a panel
(`placement.place`, `task_selection.select_tasks`, `ridge_by_family.predict_held_out`).
"""
