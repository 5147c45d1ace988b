"""Generate datasets with the columns, types, splits and configurations of the real datasets of the same names."""
