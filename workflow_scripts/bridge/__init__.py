"""Everything that touches Snakemake's inside, and what every job does around its own work."""
