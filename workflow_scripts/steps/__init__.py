"""One file per rule: a typed main() and the block that Snakemake runs. Nothing imports a step."""
