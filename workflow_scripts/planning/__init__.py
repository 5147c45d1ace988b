"""What jobs need, what a run will cost, and how far it is."""
