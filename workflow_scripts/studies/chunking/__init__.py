"""Tabulate the chunking study: what running layers in parallel chunks costs in quality and gains in speed.

One script a table, which Snakemake runs: `plans` lists the checkpoints, `perplexity`, `latency` and `pruning` measure
untrained plans, and `quality` compares every checkpoint at every training stage with the unchanged model.
`chapter.CHUNKING` computes the numbers of the report.
"""
