"""Statistics: pure functions of numbers, nothing of ours imported."""
