"""Thresholds that all chapters share."""

CLEAR = 2  # a difference is reported as clear from this many standard errors on
SIGNIFICANCE = 0.05  # significance level after Holm's correction
