"""What jobs need, what a run will cost, how far it is, and what it did cost."""
