"""Generated datasets, each with the columns, types, splits and configurations of its real namesake."""
