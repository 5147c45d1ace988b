"""Each published number beside ours, and whether the two agree."""
