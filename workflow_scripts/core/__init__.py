"""Define file formats and names for all other packages, without PyTorch.

`records` and `items` read and write the results of measurements, `ids.CheckpointId` is the id of a checkpoint,
`chunk_plan.build_chunk_plan` assigns layers to chunks, `files` writes files atomically,
`output_cache.OutputCache` caches finished outputs, `errors.UserError` is an error for the user and
`hardware_errors` detects hardware errors.
"""
