"""Benchmarks, which import the package but are not imported by it."""
