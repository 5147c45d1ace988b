"""The Harmony grid: each model on each task, as it is, with examples, and after training on it."""


rule harmony:
    """Study: models ranked on tasks as they are and after training on each, and whether tasks agree."""
    input:
        made_of("harmony", "corpora"),
