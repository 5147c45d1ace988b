"""Check the config and its tables when Snakemake starts.

`load.load_settings` builds `settings.Settings` from the merged config: the sections (`config.Config`, one file per
section), the rows of the tables (`names.read_tables`), grids, prompt runs and leaderboard submissions.
`error_messages.validate` formats pydantic's errors as sentences; `names` looks up models and tasks that no table has;
`job_batches.list_batches` groups tasks into jobs; `schema` writes config/schema.json.
"""
