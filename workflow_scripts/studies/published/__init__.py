"""The study of published scores: others' findings recomputed from their published numbers."""
