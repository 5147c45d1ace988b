"""What the user may set: config sections, tables and their checks."""
