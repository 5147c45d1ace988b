"""One package per study: its tables, figures, report chapter, leaderboard tab and comparison with published numbers."""
