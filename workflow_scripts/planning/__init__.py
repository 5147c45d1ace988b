"""Estimate the resources of jobs and the cost of a run.

`estimates.ResourceEstimator` estimates the time, memory, GPUs and disk of each job from parameters and tokens;
`plan.sum_by_rule` adds them up for `snakemake plan`; `memory` has the constants that planning and loading share.
"""
