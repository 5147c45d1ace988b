"""Train a model: continued pre-training, fine-tuning, and training before a test, all by `run.train`.

From rows to samples: `rows.dataset_rows` and `file_rows` read, `tokenise.tokenise_text` and `tokenise_conversations`
yield samples with a mark for each token that counts, `samples.write_samples` and `read_samples` keep them on disk.
From samples to steps: `packing.Order` says which samples make a step, `packing.Collator` lays them into one row, and
`attention.choose_packing` keeps them apart. `trained_parameters.select_trainable` says what of the model trains.
`trainer.PackedTrainer` is transformers' Trainer over these; `watching` has its callbacks, `state.StateFolder` the
checkpoints that a killed training resumes from, to the same bytes.
`run.train` gives a `trained.Trained`; `checkpoint_stage.train_stage` makes of it a checkpoint (`output`) and its
record, `side_by_side.launch_processes` the same on several GPUs of a node, a process each.
"""
