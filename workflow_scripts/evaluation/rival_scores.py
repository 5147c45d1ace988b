"""The scores of choices of one token, taken where their context was read to be continued.

MMLU as published asks each question twice: for an answer, and for the likeliest of the choices. Both begin
with the same reading, which is nearly all of the work.
"""

from collections.abc import Callable, Sequence

from workflow_scripts.evaluation.prefix.answer import GenerationRequest
from workflow_scripts.evaluation.prefix.scores import Score
from workflow_scripts.evaluation.scored_items import Answers

# A context and what may stand behind it, in tokens.
Pair = tuple[Sequence[int], Sequence[int]]


class RivalScores:
    """`stored` looks up what an earlier job scored of some pairs, and stores what it did not."""

    def __init__(self, stored: Callable[[list[Pair]], Answers]):
        self._stored = stored
        self._found: dict[tuple[int, ...], dict[int, Score]] = {}
        self._of_requests: dict[int, tuple[GenerationRequest, Answers]] = {}

    def of(self, context: Sequence[int], continuation: Sequence[int]) -> Score | None:
        """None where no reading told it."""
        if len(continuation) != 1:
            return None
        return self._found.get(tuple(context), {}).get(continuation[0])

    def look_up(self, requests: list[GenerationRequest]) -> set[int]:
        """Take what an earlier job left; returns the requests whose contexts have to be read for more."""
        self._of_requests = {
            at: (request, self._stored([(request.context, [token]) for token in request.rivals]))
            for at, request in enumerate(requests)
            if request.rivals
        }
        for request, stored in self._of_requests.values():
            self._add(request, {at: (value, best) for at, (value, best) in stored.known.items()})
        return {
            at
            for at, (request, stored) in self._of_requests.items()
            if len(stored.known) < len(request.rivals)
        }

    def keep(self, at: int, scores: list[Score]) -> None:
        """Take in those of the request `at`."""
        request, stored = self._of_requests[at]
        self._add(request, dict(enumerate(scores)))
        for place, score in enumerate(scores):
            stored.store(place, score)

    def _add(self, request: GenerationRequest, scores: dict[int, Score]) -> None:
        known = self._found.setdefault(tuple(request.context), {})
        known |= {request.rivals[place]: score for place, score in scores.items()}
