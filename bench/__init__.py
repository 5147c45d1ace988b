"""Benchmarks: they import the package, and nothing imports them."""
