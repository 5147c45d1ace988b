"""The Harmony grid: each model on each task, as it is and after training for the task."""
