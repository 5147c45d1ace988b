"""The study of published scores: others' findings recomputed from their numbers, in `chapter`."""
