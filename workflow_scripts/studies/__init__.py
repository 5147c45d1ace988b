"""A room for each study: its frame, tables, figures, chapter of the report, board and comparison with the published."""
