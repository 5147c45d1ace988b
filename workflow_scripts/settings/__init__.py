"""Check the config and its tables when Snakemake starts.

`load.load_settings` makes `settings.Settings` from the merged config: a section each in a file of its own
(`config.Config` has them all), the rows of the tables (`tables.read_table`), grids, prompt runs and requests as data.
`error_messages.validate` turns pydantic's problems into sentences; `names` looks up what no table has;
`job_batches.packs` says which tasks share a job; `generate` writes config/schema.json.
"""
