"""Connect the package with Snakemake.

`job.run_job` runs a script's main function as a job: log, threads, offline mode, errors. `resources.resources` gives a
rule what its jobs ask for, `job_list.list_jobs` lists the jobs of a config by a dry run, `startup` checks the config
and prepares local runs, `run_summary` ends them. All that Snakemake does not document is in `snakemake_contract`.
"""
