"""Prompt runs: MMLU under prompts that a YAML file describes.

`ask_prompt_run` renders the questions (`questions`, `rendering`) and stores the model's outputs; `score_prompt_run`
parses and scores stored outputs (`parsers`) without a model; `explain_prompt` shows the text and tokens of a question.
"""
