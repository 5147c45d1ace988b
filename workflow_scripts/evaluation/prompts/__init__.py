"""Evaluate MMLU under prompts described in a YAML file (prompt runs).

`ask_prompt_run` renders the questions (`questions`, `rendering`) and stores the model's outputs; `score_prompt_run`
parses and scores stored outputs (`parsers`) without a model; `explain_prompt` shows the text and tokens of a question.
"""
