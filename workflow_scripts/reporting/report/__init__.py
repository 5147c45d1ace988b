"""The report: numbers with names, the story told with them, as a page and as a paper."""
