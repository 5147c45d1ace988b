"""The analyses of any grid: models by tasks by protocols, whoever measured the scores."""
