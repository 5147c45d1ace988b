"""The paper: all studies together, as a report, a leaderboard and numbers."""
