"""Records, identifiers, provenance, atomic files, logging and seeds (stdlib and pydantic only)."""
