"""What all studies show their results with: words, tables, figures, numbers, boards."""
