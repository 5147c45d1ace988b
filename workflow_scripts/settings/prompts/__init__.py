"""Configure prompt runs: the section `Prompts`, and `read_prompt_runs`, which reads the files of runs."""
