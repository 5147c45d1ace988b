"""Log-likelihoods beside HFLM with automatic batches, and generation beside transformers' own."""

import random
from functools import partial
from typing import Any

from bench.gpu_setting import Setting, Table, tokenizer_of
from workflow_scripts.evaluation.latency import one_left_padded

_QUESTIONS, _SUBJECTS, _CONTEXT, _QUESTION, _ENDING = 64, 4, 600, 80, 25
_ANSWERS, _NEW_TOKENS, _BATCH = 64, 128, 16
# The least that is wanted of the engine on MMLU's shape: over HFLM, and of the measured products.
WANTED_RATIO, WANTED_SHARE = 5.0, 0.4


def run(setting: Setting) -> list[Table]:
    matmul = setting.matmul_tflops()
    scored = Table(
        "Log-likelihoods",
        f"Five examples of {_CONTEXT} tokens before each question; letters: four choices of one token, endings:"
        " four of some 25. HFLM finds its batches itself (batch_size auto), which is not counted. Share: the"
        f" operations of the tokens that ran, over {matmul:,.1f} TFLOP/s of one large product. Wanted for letters at"
        f" 0.5B: {WANTED_RATIO:g} times HFLM and {WANTED_SHARE:.0%}.",
        ("shape", "requests", "HFLM s", "batch", "engine s", "ratio", "share", "differ", "engine"),
    )
    generated = Table(
        "Generation",
        "Greedy, from the same prompts; transformers' generate in padded batches of"
        f" {_BATCH}. Tokens a second of those that are new. Same: answers that agree to the last token, which random"
        " weights in 16 bits make no promise of.",
        ("shape", "answers", "new tokens", "generate t/s", "engine t/s", "ratio", "same"),
    )
    for shape in setting.shapes:
        model = setting.model(shape)
        _score(setting, shape, model, matmul, scored)
        _generate(setting, shape, model, generated)
    return [scored, generated]


def _score(setting: Setting, shape: str, model, matmul: float, table: Table) -> None:
    from lm_eval.models.huggingface import HFLM

    from workflow_scripts.evaluation.prefix_lm import PrefixLM

    tokenizer = tokenizer_of(model.config.vocab_size)
    most = 2 if setting.small else 64
    harness = HFLM(
        pretrained=model, tokenizer=tokenizer, batch_size="auto", max_batch_size=most,
        max_length=256 if setting.small else None,
    )  # fmt: skip
    prefix = PrefixLM(pretrained=model, tokenizer=tokenizer, batch_size=_BATCH)
    engine = prefix.engine
    assert engine is not None
    parameters = sum(p.numel() for p in model.parameters())
    for name, requests in _requests(setting).items():
        longest_first = sorted(requests, key=lambda one: -len(one[1]) - len(one[2]))
        harness.batch_size_per_gpu = batch = harness._detect_batch_size(longest_first, 0)
        for lm in (harness, prefix):  # loads what is loaded once
            _scored(lm, requests[: 4 * most])
        theirs, expected = setting.seconds(partial(_scored, harness, requests))
        before = engine.tokens_run
        ours, found = setting.seconds(partial(_scored, prefix, requests))
        reached = 2 * parameters * (engine.tokens_run - before) / ours / 1e12
        differ = max(abs(a[0] - b[0]) for a, b in zip(found, expected, strict=True))
        table.rows.append(
            (
                f"{shape} {name}", len(requests), theirs, batch, ours, theirs / ours, reached / matmul,
                differ, engine.description,
            )
        )  # fmt: skip


def _scored(lm, requests: list[Any]) -> list[tuple[float, bool]]:
    return lm._loglikelihood_tokens(requests, disable_tqdm=True)


def _generate(setting: Setting, shape: str, model, table: Table) -> None:
    from workflow_scripts.evaluation.prefix.answer import GenerationRequest
    from workflow_scripts.evaluation.prefix.engine import PrefixEngine

    answers, new = (4, 4) if setting.small else (_ANSWERS, _NEW_TOKENS)
    contexts = _contexts(setting, 2, answers // 2)
    engine = PrefixEngine(model)

    def ours(length: int = new) -> list[list[int]]:
        requests = [GenerationRequest(context, length) for context in contexts]
        return engine.generate(requests, {"do_sample": False})

    def theirs(length: int = new) -> list[list[int]]:
        return [
            answer
            for at in range(0, len(contexts), _BATCH)
            for answer in _continued(model, contexts[at : at + _BATCH], length)
        ]

    ours(2), theirs(2)
    slow, expected = setting.seconds(theirs)
    fast, found = setting.seconds(ours)
    tokens = new * len(contexts)
    same = sum(a == b for a, b in zip(found, expected, strict=True)) / len(contexts)
    table.rows.append(
        (shape, len(contexts), tokens, tokens / slow, tokens / fast, slow / fast, same)
    )


def _continued(model, contexts: list[list[int]], new: int) -> list[list[int]]:
    ids, mask = one_left_padded(contexts, model.device)
    made = model.generate(
        ids, attention_mask=mask, max_new_tokens=new, do_sample=False, pad_token_id=0
    )
    return made[:, ids.shape[1] :].tolist()


def _requests(setting: Setting) -> dict[str, list[Any]]:
    subjects, questions = (1, 2) if setting.small else (_SUBJECTS, _QUESTIONS)
    rng = random.Random(setting.seed)
    contexts = _contexts(setting, subjects, questions)
    few = contexts[: max(1, len(contexts) // 4)]
    return {
        "letters": [(None, context, [letter]) for context in contexts for letter in range(10, 14)],
        "endings": [
            (None, context, _tokens(rng, rng.randint(_ENDING - 15, _ENDING + 15)))
            for context in few
            for _ in range(4)
        ],
    }


def _contexts(setting: Setting, subjects: int, questions: int) -> list[list[int]]:
    rng = random.Random(setting.seed)
    shared, own = (40, 8) if setting.small else (_CONTEXT, _QUESTION)
    prefixes = [_tokens(rng, shared) for _ in range(subjects)]
    return [
        prefix + _tokens(rng, rng.randint(own // 2, own))
        for prefix in prefixes
        for _ in range(questions)
    ]


def _tokens(rng: random.Random, count: int) -> list[int]:
    return [rng.randrange(4, 6_000) for _ in range(count)]
