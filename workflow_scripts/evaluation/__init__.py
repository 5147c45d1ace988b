"""Official harnesses through thin adapters: their tasks, prompts and metrics, our records."""
