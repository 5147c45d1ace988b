"""Measure the perplexity of a text before and after training on it.

The first eight tenths are the training text, the ninth selects the checkpoint, and the last is the test. The text
is split between lines and stays in order, so that no test text precedes the end of the training text.
"""

from pathlib import Path
from typing import Any

import numpy as np

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import hash_file
from workflow_scripts.core.provenance import list_package_versions
from workflow_scripts.core.records import Record, TrainingFacts, write_record
from workflow_scripts.evaluation.perplexity import (
    build_perplexity_items,
    compute_perplexity_metrics,
    score_text,
)
from workflow_scripts.evaluation.record_parts import build_task_facts, describe_run
from workflow_scripts.grid.cells import get_training_state
from workflow_scripts.grid.requests import CorpusRequest
from workflow_scripts.hub.bos_token import get_bos_tokens
from workflow_scripts.hub.load import LoadedModel, load_model
from workflow_scripts.hub.record_fields import RunTracker
from workflow_scripts.training.eval_mode import to_eval_mode
from workflow_scripts.training.run import train
from workflow_scripts.training.samples import BadSamples, Samples
from workflow_scripts.training.spec import TrainingSpec
from workflow_scripts.training.tokenization import tokenise_text

_SPLIT_ENDS = 0.8, 0.9  # ends of the training and of the validation text


def measure_corpus(
    model: Path, text: Path, before: Path, after: Path, request: CorpusRequest
) -> tuple[Record, Record]:
    """Measure the same test bytes before and after training, and write both records."""
    compute, keys = request.compute, request.keys

    def load(dtype: str) -> LoadedModel:
        return load_model(model, **compute.loading | {"dtype": dtype})

    training, validation, test = _split_text(text)
    tracker = RunTracker()
    loaded = load(compute.dtype)
    window = min(request.window, loaded.model.config.max_position_embeddings)
    windows = {"window": window, "stride": min(request.stride, window)}
    digest = hash_file(text)

    def measure(
        path: Path, protocol: str, model: Any, trained: TrainingFacts | None = None
    ) -> Record:
        pieces = score_text(model, loaded.tokenizer, test, **windows)
        perplexity, bits_per_byte = compute_perplexity_metrics(pieces)
        return write_record(
            path,
            build_perplexity_items(request.corpus, pieces),
            study="corpora",
            task=build_task_facts(request.corpus, text.name, digest[:40], "last tenth"),
            metrics=(bits_per_byte, perplexity),
            training=trained,
            **describe_run(
                protocol,
                request,
                loaded,
                tracker,
                sum(piece.tokens for piece in pieces),
                generation=windows,
            ),
        )

    def tokenise(part: str) -> Samples:
        """Tokenise a part as one row, with the same tokens as in the test."""
        options: dict[str, Any] = {"column": None, "length": keys.max_length}
        rows, bad_samples = [{"text": part}], BadSamples()
        samples = tokenise_text(
            loaded.tokenizer, rows, bad_samples, document_per_row=False, **options
        )
        return Samples.from_list(samples)

    direct = measure(before, "direct", loaded.model)
    resume_key = {
        "base": loaded.manifest.commit,
        "text": digest,
        "packages": list_package_versions(),
        "start": get_bos_tokens(loaded.tokenizer),
    }
    samples, held_out = tokenise(training), tokenise(validation)
    spec = TrainingSpec(samples, keys, request.seed, resume_key, loaded.device, held_out)
    best = train(lambda dtype: load(dtype).model, spec, get_training_state(after))
    facts = best.to_training_facts(held_out_split="ninth tenth")
    return direct, measure(after, "train_before_test", to_eval_mode(best.model), facts)


def _split_text(path: Path) -> list[str]:
    """Split the text into training, validation and test text."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    sizes = np.array([len(line.encode()) for line in lines])
    starts = (np.cumsum(sizes) - sizes) / max(1, sizes.sum())
    first, second = np.searchsorted(starts, _SPLIT_ENDS).tolist()
    parts = ["".join(part) for part in (lines[:first], lines[first:second], lines[second:])]
    if not all(part.strip() for part in parts):
        raise UserError(
            f"{path} has {len(lines)} lines; expected enough of them to train on eight tenths, validate on"
            " one and test on one."
        )
    return parts
