"""The paper: all studies together, as a report, a leaderboard, numbers and a cost table."""
