"""Tabulate the chunking study: what running layers in parallel chunks costs in quality and gains in speed.

Each table has a script that Snakemake runs: `plans` lists the checkpoints, `perplexity` and `latency` tabulate
untrained plans, and `quality` compares each checkpoint at each training stage with the unchanged model.
`chapter` computes the numbers of the report.
"""
