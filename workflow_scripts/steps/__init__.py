"""Scripts that rules run: each has a typed main() and the block that Snakemake runs. No package imports one."""
