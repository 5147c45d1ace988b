"""Hold what every other package may import: formats and names, without PyTorch.

`records` and `items` are what each measurement writes and is read by, `ids.CheckpointId` names checkpoints,
`plan.chunk_plan` lays out chunks, `files` writes whole files or none, `output_cache.run_cached` keeps finished outputs,
`errors.UserError` is for the person at the keyboard and `hardware_errors` tells faults of the machine from it.
"""
