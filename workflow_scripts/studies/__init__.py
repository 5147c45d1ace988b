"""A room for each study: its frame, tables, figures, sentences, board and comparison with the published."""
