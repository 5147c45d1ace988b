"""Statistics of scores: pure functions of arrays and frames, which import no other package of this project.

`score_errors.ScoreErrors` is the shared error model. Its errors come from the sampling of items that models share
(`item_errors`) and from retraining (`reruns.estimate_retraining_noise`); `jackknife.compute_family_jackknife` resamples
model families. Both are used for the agreement of tasks (`agreement`, `redraws`), components and ranks
(`principal.compute_principal_components`, `ranks.compute_rank_ranges`, `partial_order`, `missing.complete_scores`),
components of variance (`variance.decompose_variance`), tests (`significance`, `proportions`), and placement on a
panel (`placement.place_model`, `task_selection.select_tasks`, `ridge_by_family.predict_held_out`).
"""
