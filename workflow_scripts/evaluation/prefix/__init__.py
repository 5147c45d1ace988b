"""Score and continue token sequences with a causal language model, running shared prefixes once.

`engine.PrefixEngine` has `loglikelihoods` and `generate`. This package does not import the rest of the project.
"""
