"""The engine of a model that a server answers for: what PrefixEngine offers, by the completions API.

Requests go through lm-eval's own client, several at once. Prompts are sent as tokens where the server takes them,
else as text, and then each answer must have as many tokens as were meant. Log-likelihoods are the numbers that the
server gives beside the tokens of a prompt which it echoes. They are believed only if the server agrees with itself:
a token that it has generated must have the same number when it is echoed.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from types import SimpleNamespace
from typing import Any

import aiohttp
from lm_eval.models.openai_completions import LocalCompletionsAPI

from workflow_scripts.core.errors import UserError
from workflow_scripts.core.machine import ServerAway
from workflow_scripts.evaluation.prefix.answer import GenerationRequest
from workflow_scripts.evaluation.prefix.scores import Score, ScoreRequest
from workflow_scripts.hub.manifest import ServedFacts
from workflow_scripts.hub.served import ServedModel, refusal

# Requests between two visits to the disk.
_SLICE = 128
# Prompts that the server's echo is tried on, and how far it may be from itself: batches of other sizes round otherwise.
_TRIED, _APART = 8, 0.5
_TRIES, _SECONDS = 3, 900
# Settings of a generation that are about tokens here, and those that the API knows.
_OURS = {"do_sample", "pad_token_id", "eos_token_id", "use_cache", "renormalize_logits"}
_THEIRS = {"temperature", "top_p", "top_k", "min_p", "repetition_penalty"}
SHIFTED = (
    "it is shifted by one: the number beside a token is taken from what the model says after it and not"
    " before it, as llama.cpp's server in Python does"
)


class ServedEngine:
    """Results come in the order of the requests, and as fast as the server gives them."""

    def __init__(self, model: ServedModel, tokenizer: Any, *, is_known: bool = False):
        """`is_known` where what it says is held against known numbers anyway."""
        self.served, self._tokenizer = model, tokenizer
        self.model = SimpleNamespace(why_not_packed=None, attention=None)
        self.tokens = 0  # of the requests so far, known or not
        self._client = _Client(model)
        self._takes_tokens, self._adds_start = self._tried_prompt()
        self._client.tokenized_requests = self._takes_tokens
        self._why_not_believed: str | None = None
        self._was_tried = is_known

    @property
    def description(self) -> str:
        """For the record: who answered, and how that is known to be right."""
        facts = self.served.facts
        how = "tokens" if self._takes_tokens else "texts"
        checked = f", {facts.checked}" if facts.checked else ""
        return f"served: {facts.server} as {facts.name}, asked with {how}{checked}"

    def loglikelihoods(
        self,
        requests: Sequence[tuple[Sequence[int], Sequence[int]]],
        *,
        window: int,
        known: Mapping[int, Score] | None = None,
        on_scored: Callable[[int, Score], None] | None = None,
    ) -> list[Score]:
        """As PrefixEngine's."""
        found = dict(known or {})
        self.tokens += sum(len(context) + len(target) for context, target in requests)
        unknown = [at for at in range(len(requests)) if at not in found]
        self._refuse_an_echo_that_is_wrong([requests[at][0] for at in unknown], window)
        for start in range(0, len(unknown), _SLICE):
            some = unknown[start : start + _SLICE]
            # One more token is generated, because not every server takes a request for none.
            cut = [ScoreRequest.of(*requests[at], window) for at in some]
            whole = [[*one.read, one.targets[-1]] for one in cut]
            told = self._asked(whole, generate=False)
            for at, request, read, choice in zip(some, cut, whole, told, strict=True):
                found[at] = _score(choice, len(read) - len(request.targets), len(read))
                if on_scored:
                    on_scored(at, found[at])
        return [found[at] for at in range(len(requests))]

    def generate(
        self,
        requests: list[GenerationRequest],
        options: dict[str, Any] | None = None,
        *,
        known: Mapping[int, str] | None = None,
        on_generated: Callable[[int, str], None] | None = None,
    ) -> list[str]:
        """As PrefixEngine's, but the answers are texts, as the server gives them."""
        found, options = dict(known or {}), dict(options or {})
        samples = bool(options.get("do_sample"))
        settings = {key: options[key] for key in _THEIRS if options.get(key) is not None}
        strange = {key for key, value in options.items() if value not in (None, False, 1)}
        if strange := strange - _THEIRS - _OURS:
            raise UserError(
                f"The generation setting {min(strange)!r} is not one that a completions API knows."
            )
        settings = settings if samples else {"temperature": 0}
        groups: dict[tuple, list[int]] = {}
        for at, request in enumerate(requests):
            if at not in found:
                stops = tuple(getattr(request.stop, "strings", ()))
                seed = request.seed % 2**31 if samples else 0
                groups.setdefault((request.new_tokens, stops, seed), []).append(at)
        for (new_tokens, stops, seed), places in groups.items():
            asked = settings | {"max_gen_toks": new_tokens, "until": list(stops), "seed": seed}
            for start in range(0, len(places), _SLICE):
                some = places[start : start + _SLICE]
                prompts = [list(requests[at].context) for at in some]
                texts = self._asked(prompts, generate=True, gen_kwargs=asked)
                for at, text in zip(some, texts, strict=True):
                    found[at] = text or ""
                    if on_generated:
                        on_generated(at, found[at])
        self.tokens += sum(len(request.context) for request in requests)
        self.tokens += sum(len(self._encoded(text)) for text in found.values())
        return [found[at] for at in range(len(requests))]

    def _asked(self, prompts: list[list[int]], **how: Any) -> list[Any]:
        sent = prompts if self._takes_tokens else [self._text(tokens) for tokens in prompts]
        try:
            batches = asyncio.run(
                self._client.get_batched_requests(sent, [None] * len(sent), **how)
            )
        except aiohttp.ClientResponseError as error:
            raise refusal(str(error.request_info.url), error.status, error.message) from error
        except (TimeoutError, OSError, aiohttp.ClientError) as error:
            said = str(error) or type(error).__name__
            raise ServerAway(f"{self.served.facts.endpoint} gives no answer: {said}") from error
        return [answer for batch in batches for answer in batch]

    # ----- prompts ----------------------------------------------------------------------------------

    def _encoded(self, text: str) -> list[int]:
        return self._tokenizer(text, add_special_tokens=False)["input_ids"]

    def _text(self, tokens: Sequence[int]) -> str:
        """Which the server makes the same tokens of again, or its answer is refused."""
        start = self._tokenizer.bos_token_id
        if self._adds_start and tokens and tokens[0] == start:
            tokens = tokens[1:]
        elif self._adds_start:
            raise UserError(
                f"The server at {self.served.facts.endpoint} takes no tokens, and puts a start token before"
                " each text, which these prompts do not have; expected a server that takes tokens, or one"
                " that is told to add none."
            )
        return self._tokenizer.decode(
            tokens, skip_special_tokens=False, clean_up_tokenization_spaces=False
        )

    def _tried_prompt(self) -> tuple[bool, bool]:
        """Whether the server takes tokens; and else, whether it puts a start token before a text."""
        text = "The sun rises in the east."
        tokens = self._encoded(text)
        asked = {"max_tokens": 1, "temperature": 0, "logprobs": 1, "echo": True}
        try:
            self.served.complete(prompt=tokens, **asked)
        except (
            UserError
        ):  # as llama.cpp's in Python says, with a number that means an error of its own
            echoed = self.served.complete(prompt=text, **asked)
            _numbers(echoed)
            first = echoed["logprobs"]["tokens"][0]
            return False, first != self._tokenizer.decode(tokens[:1])
        return True, False

    # ----- belief -----------------------------------------------------------------------------------

    def _refuse_an_echo_that_is_wrong(self, contexts: list[Sequence[int]], window: int) -> None:
        if contexts and not self._was_tried:
            self._was_tried = True
            step = max(1, len(contexts) // _TRIED)
            self._why_not_believed = self._disagreement(contexts[::step][:_TRIED], window)
        if self._why_not_believed:
            raise UserError(self._why_not_believed)

    def _disagreement(self, contexts: Sequence[Sequence[int]], window: int) -> str | None:
        """A sentence, if tokens that it generates have other numbers once they are echoed."""
        asked = {"max_tokens": 1, "temperature": 0, "logprobs": 1}
        apart, one_before = [], []
        for context in contexts:
            context = list(context)[1 - window :]
            said = self.served.complete(prompt=self._prompt(context), **asked)
            token, written = self._encoded(said["text"]), _numbers(said)
            if len(token) != 1 or len(written) != 1:  # the end of the text, or a part of a letter
                continue
            whole = [*context, *token]
            echoed = self.served.complete(prompt=self._prompt(whole), echo=True, **asked)
            value, _ = _score(echoed, len(context), len(whole))
            apart.append(abs(value - written[0]))
            before = (echoed["logprobs"].get("top_logprobs") or [{}])[len(context) - 1] or {}
            one_before.append(abs(before.get(said["text"], float("inf")) - written[0]))
        if not apart or median(apart) <= _APART:
            return None
        return (
            f"The log-likelihoods of the server at {self.served.facts.endpoint} cannot be believed: when it"
            f" echoes a token that it has generated, the number beside it is another, by {median(apart):.2f}"
            f" in the median of {len(apart)} prompts"
            + (f"; {SHIFTED}" if median(one_before) <= _APART else "")
            + ". Generated answers are not concerned."
        )

    def _prompt(self, tokens: list[int]) -> list[int] | str:
        return tokens if self._takes_tokens else self._text(tokens)


class _Client(LocalCompletionsAPI):
    """lm-eval's client, which is given prompts that are encoded already."""

    def __init__(self, model: ServedModel):
        facts: ServedFacts = model.facts
        super().__init__(
            base_url=f"{facts.endpoint}/completions",
            model=facts.name,
            tokenizer_backend=None,
            num_concurrent=facts.at_once,
            max_retries=_TRIES,
            timeout=_SECONDS,
            header=model.headers,
        )

    @staticmethod
    def parse_logprobs(outputs, *_, **__) -> list[dict[str, Any]]:
        """As they are: what is wrong with an answer would be the same in every try."""
        return outputs["choices"]


def _score(choice: dict[str, Any], start: int, end: int) -> Score:
    """Of the tokens in these places of an echo, which has `end` and perhaps one that was generated."""
    numbers = _numbers(choice)
    if len(numbers) not in (end, end + 1):  # where the text ends, nothing is generated
        raise UserError(
            f"The server read a prompt of {end} tokens as {len(numbers)}, so that its numbers stand beside"
            " other tokens; expected a server that takes tokens, or one with the same tokenizer."
        )
    scored = numbers[start:end]
    best = [max(top.values()) for top in choice["logprobs"]["top_logprobs"][start:end]]
    return sum(scored), all(one >= most for one, most in zip(scored, best, strict=True))


def _numbers(choice: dict[str, Any]) -> list[float]:
    """Beside the tokens of an answer, and before them those of the prompt, if that was echoed."""
    found = (choice.get("logprobs") or {}).get("token_logprobs")
    if found is None:
        raise UserError(
            "The server gives no log-likelihoods beside its tokens; expected one that answers logprobs"
            " and echo, and is started with what it needs for that (llama.cpp's in Python: --logits_all"
            " true)."
        )
    return found
