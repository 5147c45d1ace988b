"""The Harmony grid: each model on each task, as it is, with examples, and after training on it."""


rule harmony:
    """Study: models ranked on tasks as they are and after training on each, and whether tasks agree."""
    input:
        # The records too, or a deleted one would stay away while its table is there.
        [
            RECORDS["harmony"],
            expand(
                "results/tables/harmony_{table}.{kind}",
                table=[
                    "scores",
                    "leaderboard",
                    "agreement",
                    "components",
                    "significance",
                    "panel",
                ],
                kind=["csv", "md", "tex"],
            ),
            expand(
                "results/figures/harmony_{figure}.{kind}",
                figure=[
                    *["scores", "matrices", "agreement_by_task", "categories", "components"],
                    *["pc1_by_size", "bump", "panel"],
                ],
                kind=["pdf", "png"],
            ),
            HARMONY_PERPLEXITY,
        ]
        if HARMONY_MODELS
        else [],
