"""Training that survives: data, what trains, the trainer, and the state to resume from."""
