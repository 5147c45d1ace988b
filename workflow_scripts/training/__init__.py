"""Train a model: continued pre-training, fine-tuning, and training before a test, all with `run.train`.

From rows to samples: `tokenise_samples` reads rows, `tokenization.tokenise_text` and `tokenise_conversations` yield
samples with a loss mask, `samples.write_samples` and `read_samples` store them on disk.
From samples to steps: `packing.EpochSampler` orders samples and `packing.collate` packs a micro-batch into one row, in
which `attention.choose_packing` separates the samples. `trainable_parameters.select_trainable` sets `requires_grad`
for a recipe. `trainer.PackedTrainer` is transformers' Trainer with these parts; `state.StateFolder` holds the
checkpoints from which a killed training resumes bit for bit. `checkpoint_stage.train_stage` makes a checkpoint
(`output`) and its record.
"""
