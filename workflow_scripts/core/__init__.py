"""Records, identifiers, chunk plans, provenance, atomic files and seeds: what every other package may import."""
