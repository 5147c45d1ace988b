"""Measure the Harmony grid: each model on each task, without training and after training for the task.

`measure_cells` measures the cells of one job, `train_before_test.train_before_test` measures one cell with training,
`corpora.measure_corpus` measures a user's text, and `explain.explain_training` shows a training and a test item.
"""
