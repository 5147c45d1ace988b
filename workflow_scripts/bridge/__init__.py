"""Connect the package with Snakemake.

`job.run_job` runs the main function of a script as a job, with log, threads, offline mode and error messages.
`resources.build_resources` builds the resources of a rule, `job_list.list_jobs` lists the jobs of a config by a dry
run, `startup` checks the config and prepares local runs, `run_summary` prints the summary of a run.
`snakemake_contract` has every use of undocumented features of Snakemake.
"""
