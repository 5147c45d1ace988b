"""The Harmony grid: each model on each task, as it is and after training for the task.

`job.run_job` measures the cells of one job, `train_before_test.train_before_test` one of them with training,
`corpora.measure_corpus` a text of the user's own, and `explain.explain_training` shows what is trained on and tested.
"""
