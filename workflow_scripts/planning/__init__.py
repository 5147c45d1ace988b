"""Estimate what jobs need and what a run will cost.

`estimates.Planner` gives the time, memory, GPUs and disk of each job from sizes and tokens; `plan.sum_by_rule` adds
them up for `snakemake plan`; `memory` has the numbers that planning and loading share.
"""
