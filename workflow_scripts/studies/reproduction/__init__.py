"""The chapter on the comparison of published numbers with ours; its tables are made in `paper`."""
