"""Training that survives: data, what trains, the trainer, and the state to go on from."""
