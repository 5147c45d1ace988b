"""Prompt runs in the config: the section `Prompts`, and `read_prompt_runs`, which reads the files of runs."""
