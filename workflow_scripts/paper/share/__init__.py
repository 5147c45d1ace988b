"""What a run has measured, in the formats in which others read results."""
