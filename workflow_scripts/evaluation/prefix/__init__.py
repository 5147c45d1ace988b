"""Score and continue token sequences with a causal language model, and read what they share once.

`engine.PrefixEngine` has `loglikelihoods` and `generate`. Nothing here imports the rest of the package.
"""
