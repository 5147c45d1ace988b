"""Evaluate models: official harnesses through thin adapters, with their tasks, prompts and metrics, and our records.

`direct.evaluate_direct` measures a cell with lm-eval, `mmlu.evaluate_mmlu` MMLU with lighteval; `measure_perplexity`,
`measure_written`, `plan_latency` and `parity` measure and verify chunk plans. `prefix_lm.PrefixLM` and
`prefix_lighteval.PrefixTransformersModel` run a harness on the engine in `prefix`, which imports nothing of the rest;
`score_cache` keeps the answers of a killed job.
"""
