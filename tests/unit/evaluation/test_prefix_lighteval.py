"""Compare the engine in lighteval with lighteval's model, in a subprocess because lighteval disables autograd."""

import pytest

from tests.processes import python
from tests.unit.evaluation.random_requests import fresh_seed

pytestmark = pytest.mark.slow  # importing lighteval takes ten seconds

CHILD = """
import random, sys
import torch
torch.set_num_threads(1)
from lighteval.models.transformers.transformers_model import TransformersModel, TransformersModelConfig
from lighteval.models.model_input import GenerationParameters
from lighteval.tasks.requests import Doc
from tests.unit.evaluation.random_requests import CachelessModel
from tests.tiny_models import make_tiny_model
from transformers import AutoTokenizer
from workflow_scripts.evaluation.prefix_lighteval import PrefixTransformersModel

folder, cache, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
rng = random.Random(seed)
tokenizer = AutoTokenizer.from_pretrained(folder)
words = [w for index in range(len(tokenizer)) if (w := tokenizer.decode([index]).strip())]

def draw_text(minimum, maximum):
    return " ".join(rng.choices(words, k=rng.randint(minimum, maximum)))

def make_models(model, **generation):
    config = TransformersModelConfig(
        model_name="alias/model", tokenizer=folder, dtype="float32", batch_size=8, device="cpu",
        cache_dir=cache, override_chat_template=False, max_length=96,
        generation_parameters=GenerationParameters(**generation))
    reference = TransformersModel.from_model(model, config)
    reference._cache = None
    return reference, PrefixTransformersModel.from_model(model, config)

def make_docs(choices, **fields):
    examples = draw_text(20, 25)
    long = draw_text(100, 120)
    queries = [f"{examples} Question: {draw_text(3, 9)} Answer:" for _ in range(8)]
    queries += [draw_text(2, 9) for _ in range(4)] + [f"{long} {draw_text(2, 5)}"]
    return [Doc(query=q, choices=choices(), gold_index=0, task_name="t", **fields) for q in queries]

def check(kind, reference, own):
    letters = make_docs(lambda: [" A", " B", " C", " D"])
    endings = make_docs(lambda: [" " + draw_text(1, 6) for _ in range(4)])
    for some in (letters, endings, letters[:1]):
        expected = reference.loglikelihood(some)
        encode, own.tokenizer.encode = own.tokenizer.encode, None  # texts are encoded in batches
        scores = own.loglikelihood(some)
        own.tokenizer.encode = encode
        for a, b in zip(expected, scores, strict=True):
            assert max(abs(x - y) for x, y in zip(a.logprobs, b.logprobs, strict=True)) < 1e-4
            assert a.argmax_logits_eq_gold == b.argmax_logits_eq_gold
            assert a.input_tokens.tolist() == b.input_tokens
            rows = a.output_tokens.tolist()  # padded with -1
            assert [[token for token in row if token >= 0] for row in rows] == b.output_tokens
    requests = make_docs(lambda: ["A"], generation_size=6, stop_sequences=["\\n", "e", " th"])
    # Each prompt alone, because in a batch, an answer of lighteval depends on the others: a prompt as
    # long as the window truncates all answers, an end-of-text token is ignored while others continue,
    # and padding changes the first token by more than rounding errors.
    expected = [answer for doc in requests for answer in reference.greedy_until([doc])]
    texts = set()
    for a, b in zip(expected, own.greedy_until(requests), strict=True):
        assert a.text == b.text, (kind, a.text, b.text)
        texts.update(b.text)
    assert len(texts) > 3
    print(kind, own.engine.description, flush=True)

for kind in ("qwen2", "peft"):
    check(kind, *make_models(make_tiny_model(kind, len(tokenizer), window=96)))
assert "lm_eval" not in sys.modules
"""


def test_answers_equal_lighteval(model_manifest, tmp_path):
    output = python(CHILD, model_manifest.parent, tmp_path, fresh_seed(), HF_HUB_OFFLINE="1")
    assert output.split("\n")[:2] == ["qwen2 prefix sharing", "peft prefix sharing"]
