"""Run one job per rule: each script has a typed main() and the block that Snakemake runs. No package imports one."""
