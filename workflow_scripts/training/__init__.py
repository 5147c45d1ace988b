"""Train a model: continued pre-training, fine-tuning, and training before a test, all by `run.train`.

From rows to samples: `data.read_dataset_rows` and `data.read_file_rows` read, `tokenization.tokenise_text` and
`tokenise_conversations` yield samples with a mark for each token that counts, `samples.write_samples` and
`read_samples` keep them on disk. From samples to steps: `packing.MicroBatchSampler` draws micro-batches and
`packing.Collator` lays each into one row, in which `attention.choose_packing` keeps samples apart.
`trainable_parameters.select_trainable` turns gradients on for what a recipe trains. `trainer.PackedTrainer` is
transformers' Trainer over these; `state.StateFolder` holds the checkpoints that a killed training resumes from, bit
for bit. `checkpoint_stage.train_stage` makes a checkpoint (`output`) and its record.
"""
