"""Web pages: static files that need no server and no network.

`board.render_board` renders the leaderboard page of `Tab` and `Column`, `policy.build_policy` builds the
Content-Security-Policy of a page.
"""
