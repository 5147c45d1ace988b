"""The hub folder: fetched or generated once, then read by every job without a network."""
