"""Evaluate models with the official harnesses (their tasks, prompts and metrics) and write our records.

`direct.evaluate_direct` measures a cell with lm-eval, and `mmlu.evaluate_mmlu` measures MMLU with lighteval;
`measure_perplexity`, `measure_written` and `measure_latency` measure chunk plans, and `verify_chunked` a checkpoint.
`prefix_lm.PrefixLM` and `prefix_lighteval.PrefixTransformersModel` run a harness on the engine in `prefix`, which does
not import the rest of the package; `score_cache` stores answers so that a killed job can resume.
"""
