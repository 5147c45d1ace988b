"""Many adapters trained beside one another over one frozen model, each as if it were alone."""
