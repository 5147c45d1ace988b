"""Statistics of scores: pure functions of arrays and frames, which import nothing of ours.

`score_errors.ScoreErrors` is the error model that all share: `item_errors` for the items that models have in common,
`reruns.estimate_rerun_errors` for another training, `jackknife.compute_family_jackknife` for families of models. It
is behind the agreement of tasks (`agreement`, `redraws`, `like_sizes`), components and ranks
(`principal.principal_components`, `ranks.compute_rank_ranges`, `partial_order`, `missing.complete`), components of
variance (`variance.decompose_variance`), tests (`significance`, `shares`), and places on a panel (`placement.place`,
`few_tasks.select_tasks`, `unseen_families.predict_held_out`).
"""
