"""Whether a server's log-likelihoods are those of the weights that it is said to serve: 200 are held against them."""

from pathlib import Path
from typing import Any

import numpy as np

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.named import InputFiles, OutputFiles
from workflow_scripts.core.seeds import derive_seed
from workflow_scripts.evaluation.prefix.engine import PrefixEngine
from workflow_scripts.evaluation.prompts.questions import read_questions
from workflow_scripts.evaluation.served import SHIFTED, ServedEngine
from workflow_scripts.hub.load import LoadedModel, load_model
from workflow_scripts.hub.manifest import hub_of, write_manifest
from workflow_scripts.hub.served import ServedModel, load_served, take_files, take_served
from workflow_scripts.settings.served import TakenRequest

ITEMS, LONGEST = 200, 60  # and the tokens of an item
# In nats, of the mean item: number formats and kernels differ by less, and other weights by more.
ALLOWED = 0.1
# By so much nearer is what a shifted echo says to what it is taken from. That is of unlikely tokens, of which rounding
# changes more: llama.cpp's, of 4-bit weights and 8-bit activations, is off by 0.11 there.
_NEARER = 10

Pair = tuple[list[int], list[int]]


def take_served_model(inputs: InputFiles, request: dict[str, Any], outputs: OutputFiles) -> None:
    """Write the manifest, last, beside the tokenizer and the configuration."""
    (source,), manifest = inputs["source"], outputs["manifest"]
    asked = TakenRequest.of(request)
    taken = take_served(source, asked)
    files = take_files(source, manifest.parent)
    if asked.served.check:
        served, _ = load_served(manifest, taken)
        weights = load_model(source, **asked.compute.loading)
        checked = check_served(served, weights, hub_of(source), seed=0)
        print(f"Checked: {checked}.")
        facts = served.facts.model_copy(update={"checked": checked})
        taken = taken.model_copy(update={"served": facts})
    write_manifest(manifest.parent, taken.model_copy(update={"files": files}))


def check_served(served: ServedModel, weights: LoadedModel, hub: Path, seed: int) -> str:
    """How near they are; a UserError says how far, and whether they are the numbers of the next tokens."""
    pairs = words_of_questions(weights.tokenizer, hub, seed)
    theirs = _scores(ServedEngine(served, weights.tokenizer, is_known=True), pairs)
    engine = PrefixEngine(weights.model)
    apart = _mean_difference(theirs, _scores(engine, pairs))
    facts = served.facts
    if apart <= ALLOWED:
        return f"{len(pairs)} items within {apart:.2g} of its weights"
    # What a server says that takes each token's number from the logits behind it.
    behind = [([*context, *word], word) for context, word in pairs]
    is_shifted = _mean_difference(theirs, _scores(engine, behind)) <= apart / _NEARER
    raise UserError(
        f"The log-likelihoods of {facts.name!r} at {facts.endpoint} ({facts.server}) are not those of"
        f" {weights.manifest.repository} in {weights.dtype}: {len(pairs)} items differ by {apart:.2f} in the mean;"
        f" expected at most {ALLOWED}. "
        + (
            f"The server echoes wrongly: {SHIFTED}. Its generated answers are not concerned; with"
            " served.<model>.check: false they alone can be measured."
            if is_shifted
            else "It serves other weights, another number format, or adds tokens to prompts; where that is"
            " meant, as with quantised weights, set served.<model>.check to false."
        )
    )


def words_of_questions(tokenizer: Any, hub: Path, seed: int) -> list[Pair]:
    """Questions of MMLU up to some word, and the first token of that word, which no way of splitting text moves."""
    rng = np.random.default_rng(derive_seed(seed, "served check"))
    questions, _ = read_questions(hub, "mmlu")
    pairs: list[Pair] = []
    for at in rng.permutation(len(questions)):
        tokens = tokenizer(questions[at].text)["input_ids"][:LONGEST]
        texts = [tokenizer.decode([token]) for token in tokens]
        ends = [n for n in range(2, len(tokens)) if _is_alike(tokenizer, tokens, texts, n)]
        if ends:
            end = int(rng.choice(ends))
            pairs.append((tokens[:end], tokens[end : end + 1]))
        if len(pairs) == ITEMS:
            break
    return pairs


def _is_alike(tokenizer: Any, tokens: list[int], texts: list[str], end: int) -> bool:
    """Whether the text up to and with this token has these tokens again."""
    if not texts[end].strip().isalpha():
        return False
    text = tokenizer.decode(tokens[: end + 1], skip_special_tokens=True)
    return tokenizer(text)["input_ids"] == tokens[: end + 1]


def _scores(engine: Any, pairs: list[Pair]) -> np.ndarray:
    return np.array([score for score, _ in engine.loglikelihoods(pairs, window=2 * LONGEST)])


def _mean_difference(one: np.ndarray, other: np.ndarray) -> float:
    return float(np.abs(one - other).mean())
