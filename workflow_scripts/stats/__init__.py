"""Statistics of scores: pure functions of arrays and frames, which import nothing of ours.

`score_errors.ScoreErrors` is the error model that all share: `item_errors` for the items that models have in common,
`reruns.reruns_of` for another training, `jackknife.over_families` for families of models. On it stand the agreement
of tasks (`agreement`, `redraws`, `like_sizes`), components and ranks (`principal.principal_components`,
`ranks.rank_ranges`, `partial_order`, `missing.complete`), components of variance (`variance.variance_of`), tests
(`significance`, `shares`), and places on a panel (`placement.place`, `few_tasks.chosen`, `unseen_families.learn`).
"""
