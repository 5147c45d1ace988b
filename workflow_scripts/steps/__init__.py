"""Scripts that rules run: each a typed main() and the block that Snakemake runs. No room imports one."""
