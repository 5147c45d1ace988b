"""Define the thresholds that all chapters share."""

MIN_CLEAR_Z = 2  # a difference is called clear from this many standard errors on
ALPHA = 0.05  # significance level after Holm's correction
