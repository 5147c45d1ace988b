"""What rules run, a file for one or several of them: a typed main() and the block that Snakemake runs. No room imports one."""
