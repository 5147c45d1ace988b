"""Web pages: static files that need no server and no network.

`board.render_board` renders the leaderboard page of `Tab` and `Column`, `policy.policy` a Content-Security-Policy.
"""
