"""The pages that people open: plain files that need no server and no network."""
