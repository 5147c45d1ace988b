"""What other people's harnesses wrote to disk, read as it is."""
