"""How much there is to do: items and tokens of each kind of measuring and training."""

from collections.abc import Sequence
from dataclasses import dataclass

from workflow_scripts.settings.checkpoint import Checkpoint
from workflow_scripts.settings.load import Settings
from workflow_scripts.settings.suite import SuiteTask
from workflow_scripts.settings.tables import WorkRow
from workflow_scripts.settings.training import Recipe

BYTES_A_TOKEN = 4
# The embedded world's texts are short, and what the table says of the real tasks is not true of them.
_MINIATURE_WORK = {"training_tokens": 26, "test_tokens": 26, "training_items": 400}
# A task that the work table does not have is taken for one of this size.
_USUAL_WORK = {"training_items": 10_000, "test_items": 3_000, "training_tokens": 60}
_USUAL_WORK |= {"test_tokens": 80, "new_tokens": 0, "download_mb": 100}
_MMLU_SUBJECTS, _MMLU_QUESTIONS, _MINIATURE_QUESTIONS = 57, 14_042, 12
_MMLU_EXAMPLES = 5  # in front of a question
# Tokens of the texts that perplexity is measured on, and of the two sets that stages train on.
_WIKITEXT_TEST = {"miniature": 9_000, "huggingface": 290_000}
_STAGE_TEXT, _STAGE_CHAT, _MINIATURE_STAGE = 118_000_000, 450, 80_000  # a chat's: of one
_DATASETS_MB = {"Salesforce/wikitext": 320, "Magpie-Align/Magpie-Qwen2.5-Pro-1M-v0.1": 2_400}


@dataclass(frozen=True)
class Amount:
    """One task's measuring, in tokens."""

    items: int
    tokens: float
    length: int
    new_tokens: int = 0


class Work:
    """The config's tables and caps as amounts."""

    def __init__(self, settings: Settings):
        self._settings = settings
        self._miniature = settings.source == "miniature"
        self.dataset_mb = {
            settings.tasks[name].dataset: row.download_mb
            for name, row in settings.work.items()
            if name in settings.tasks
        } | _DATASETS_MB

    def row(self, task: str) -> WorkRow:
        usual = WorkRow.model_construct(None, task=task, source="an estimate", **_USUAL_WORK)
        row = self._settings.work.get(task, usual)
        if not self._miniature:
            return row
        items = self._settings.miniature.items
        return row.model_copy(update=_MINIATURE_WORK | {"test_items": items})

    def test(self, task: str, shots: int) -> Amount:
        return self._test(self.row(task), shots, self._settings.harmony.max_test_items)

    def suite_test(self, entry: SuiteTask) -> Amount:
        row, most = self.row(entry.task), entry.max_items or self._settings.suite.max_items
        if entry.task == "mmlu":  # its cap is on each subject
            most = self._mmlu_items(most)
            row = row.model_copy(update={"test_items": most})
        return self._test(row, entry.shots, most)

    def _test(self, row: WorkRow, shots: int, most: int | None) -> Amount:
        items, length = min(row.test_items, most or row.test_items), row.test_tokens
        length += shots * row.training_tokens
        return Amount(items, items * length, length, row.new_tokens)

    def mmlu(self) -> Amount:
        row = self.row("mmlu_helm")
        items = self._mmlu_items(self._settings.mmlu.max_items_per_subject)
        if self._miniature:
            return Amount(items, items * 95, row.test_tokens, row.new_tokens)
        # Each subject's examples are read once for the likeliest letters, and once for the answers
        # that are generated; so is each question.
        tokens = 2 * (items + _MMLU_SUBJECTS * _MMLU_EXAMPLES) * row.test_tokens
        return Amount(items, tokens, (1 + _MMLU_EXAMPLES) * row.test_tokens, row.new_tokens)

    def prompt_run(self, name: str) -> Amount:
        run = self._settings.prompt_runs[name]
        items = self._mmlu_items(self._settings.prompts.max_items_per_subject)
        items, length = min(items, run.first or items), 70 if self._miniature else 130
        return Amount(items, items * length, length, run.decoding.new_tokens or 0)

    def _mmlu_items(self, per_subject: int | None) -> int:
        most = _MINIATURE_QUESTIONS if self._miniature else _MMLU_QUESTIONS
        return min(_MMLU_QUESTIONS, _MMLU_SUBJECTS * min(most, per_subject or most))

    @property
    def wikitext_tokens(self) -> int:
        whole = _WIKITEXT_TEST[self._settings.source]
        return min(whole, self._settings.chunking.measures.text_tokens or whole)

    @property
    def response_tokens(self) -> int:
        return 10 if self._miniature else 500

    def stage_samples(self, recipe: Recipe) -> tuple[int, int]:
        """How many samples a stage trains on, and the tokens of each."""
        samples = 1_000 if self._miniature else recipe.max_samples or 1_000_000
        if recipe.data == "text":
            whole = _MINIATURE_STAGE if self._miniature else _STAGE_TEXT
            samples, each = min(samples, whole // recipe.max_length), recipe.max_length
        else:
            each = 15 if self._miniature else min(recipe.max_length, _STAGE_CHAT)
        return max(recipe.batch_size, samples), each

    def tokenised(self, recipe: Recipe) -> int:
        """The tokens of all that a recipe reads."""
        if self._miniature:
            return _MINIATURE_STAGE
        chats = (recipe.max_samples or 1_000_000) * _STAGE_CHAT
        return _STAGE_TEXT if recipe.data == "text" else chats

    @property
    def question_tokens(self) -> int:
        """Of one of MMLU's with its choices, which times are taken on."""
        return 32 if self._miniature else 100

    def placements(self, chunks: int) -> int:
        """On how many numbers of devices a plan is timed."""
        return sum(number <= chunks for number in self._settings.chunking.measures.devices) or 1

    def latency_rounds(self, plans: Sequence[Checkpoint], layers: int) -> dict[int, int]:
        """How often all questions are read and answered in batches of each size, over all plans.

        On each number of devices that a plan has chunks for, the unchanged model takes turns with it, fused and
        as the loop; a pruned one has one way, and the first size alone.
        """
        measures = self._settings.chunking.measures
        chunks = [len(plan.plan(layers).chunks) for plan in plans]
        chunked = [number for number in chunks if number]
        of_each = 3 * sum(map(self.placements, chunked))
        turns = dict.fromkeys(measures.batch_sizes, of_each)
        turns[measures.batch_sizes[0]] += 2 * (len(chunks) - len(chunked))
        return {
            size: number * (1 + measures.repeats) for size, number in turns.items()
        }  # one to warm up
