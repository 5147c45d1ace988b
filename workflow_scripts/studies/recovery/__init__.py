"""What chunks and dropped layers cost at equal speed, and what training on few tokens brings back."""
