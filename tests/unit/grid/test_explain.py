"""Test that the explained training item shows exactly the tokens that the trainer gets."""

import re

from workflow_scripts.evaluation.encoding import Encoder
from workflow_scripts.grid.explain import explain_training
from workflow_scripts.grid.requests import ExplainTrainingRequest
from workflow_scripts.grid.splits import load_splits
from workflow_scripts.grid.training_texts import TrainingTextBuilder
from workflow_scripts.hub.load import load_tokenizer
from workflow_scripts.hub.mirror import mirror
from workflow_scripts.settings.harmony import TaskRecipe
from workflow_scripts.training.samples import BadSamples

RECIPE = TaskRecipe(max_training_items=24, max_length=30)


def read_tokens(part: str) -> list[tuple[bool, int]]:
    """Parse the printed tokens: whether each is in the answer, and its id."""
    lines = re.findall(r"^([> ]) +(\d+) ['\"]", part, re.MULTILINE)
    return [(mark == ">", int(token)) for mark, token in lines]


def test_explained_tokens_equal_sample(world, tmp_path):
    from transformers import AutoConfig

    manifest = world / "models/miniature/Llama-0.3M/manifest.json"
    request = ExplainTrainingRequest(
        task="nq_open", number=3, recipe=RECIPE, chat_template=False, seed=0, draws="own"
    )
    data = [world / "datasets/google-research-datasets/nq_open/manifest.json"]
    explain_training([manifest], data, tmp_path / "explained.txt", request.to_params())
    part = (tmp_path / "explained.txt").read_text(encoding="utf-8")
    with mirror(world):
        splits = load_splits("nq_open", RECIPE, 0, "own")
        encoder = Encoder(load_tokenizer(manifest), AutoConfig.from_pretrained(manifest.parent))
        texts = TrainingTextBuilder(splits.test, encoder, RECIPE, chat=False)
        (sample,) = texts.build_samples([splits.training[3]], BadSamples())
        training_tokens, test_tokens = map(read_tokens, part.split("---- tested ----"))
        assert [token for _, token in training_tokens] == sample.tokens.tolist()
        assert test_tokens and not any(is_answer for is_answer, _ in test_tokens)
