"""Perplexity of a text before and after training on it: its first eight tenths train, the ninth
chooses, and the last is the test. Cut between lines and left in order, so that nothing of the test
stands before the training's end.
"""

from pathlib import Path
from typing import Any

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import sha256_file
from workflow_scripts.core.provenance import package_versions
from workflow_scripts.core.records import Record, TaskFacts, TrainingFacts, write_record
from workflow_scripts.evaluation.perplexity import (
    Scored,
    perplexity_items,
    perplexity_metrics,
    text_perplexity,
)
from workflow_scripts.evaluation.record_parts import HARNESS, HARNESS_VERSION, protocol_of
from workflow_scripts.grid.cells import training_beside
from workflow_scripts.grid.requests import CorpusRequest
from workflow_scripts.hub.load import LoadedModel, load_model
from workflow_scripts.hub.recording import Recording
from workflow_scripts.hub.start_token import start_of
from workflow_scripts.training.evaluated import as_evaluated
from workflow_scripts.training.lesson import Lesson
from workflow_scripts.training.run import padding_token, train
from workflow_scripts.training.samples import BadSamples, Samples
from workflow_scripts.training.tokenise import tokenise_text

TRAINED, CHOSEN_ON = 0.8, 0.1


def measure_corpus(
    model: Path, text: Path, before: Path, after: Path, request: CorpusRequest
) -> tuple[Record, Record]:
    """The records of both measurements, of the same bytes."""
    compute = request.compute

    def load(dtype: str) -> LoadedModel:
        return load_model(model, **compute.loading | {"dtype": dtype})

    training, choosing, test = _cut(text)
    recording = Recording()
    loaded = load(compute.dtype)
    window = min(request.window, loaded.model.config.max_position_embeddings)
    windows = {"window": window, "stride": min(request.stride, window)}

    def score(model: Any) -> list[Scored]:
        return text_perplexity(model, loaded.tokenizer, test, **windows)

    def write(
        path: Path, protocol: str, pieces: list[Scored], trained: TrainingFacts | None
    ) -> Record:
        perplexity, bits_per_byte = perplexity_metrics(pieces)
        return write_record(
            path,
            perplexity_items(request.corpus, pieces),
            study="corpora",
            task=TaskFacts(
                name=request.corpus,
                harness=HARNESS,
                harness_version=HARNESS_VERSION,
                dataset=text.name,
                dataset_commit=sha256_file(text)[:40],
                split="last tenth",
                shots=0,
            ),
            protocol=protocol_of(
                protocol,
                loaded,
                seed=request.seed,
                batch_size=compute.batch_size,
                generation=windows,
            ),
            metrics=(bits_per_byte, perplexity),
            training=trained,
            **recording.parts(request, loaded, sum(piece.tokens for piece in pieces)),
        )

    direct = write(before, "direct", score(loaded.model), None)
    lesson = Lesson(
        _blocks(loaded, training, request.keys.max_length),
        request.keys,
        request.seed,
        {
            "base": loaded.manifest.commit,
            "text": sha256_file(text),
            "packages": package_versions(),
            "start": start_of(loaded.tokenizer),
        },
        held_out=_blocks(loaded, choosing, request.keys.max_length),
    )
    best = train(
        lambda dtype: load(dtype).model,
        lesson,
        training_beside(after),
        device=loaded.device,
        padding_token=padding_token(loaded.tokenizer),
    )
    trained = write(
        after,
        "train_before_test",
        score(as_evaluated(best.model)),
        best.as_fact(held_out_split="ninth tenth"),
    )
    return direct, trained


def _cut(path: Path) -> tuple[str, str, str]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    except UnicodeDecodeError as error:
        raise UserError(f"{path} is not text in UTF-8 ({error}).") from None
    size, parts = sum(len(line.encode()) for line in lines), ["", "", ""]
    behind = 0
    for line in lines:
        share = behind / size
        parts[0 if share < TRAINED else 1 if share < TRAINED + CHOSEN_ON else 2] += line
        behind += len(line.encode())
    if not all(part.strip() for part in parts):
        raise UserError(
            f"{path} has {len(lines)} lines; expected enough of them to train on eight tenths, choose on"
            " one and test on one."
        )
    return parts[0], parts[1], parts[2]


def _blocks(loaded: LoadedModel, text: str, length: int) -> Samples:
    """Tokenise a text as one row, so that its tokens are those that a test makes of it."""
    rows = [{"text": text}]
    blocks = tokenise_text(
        loaded.tokenizer, rows, BadSamples(), column=None, length=length, each_row_ends=False
    )
    return Samples.from_list(blocks)
