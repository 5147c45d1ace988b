"""Compare MMLU with lighteval's own model and scores, in a subprocess because importing lighteval disables autograd."""

import json
from itertools import permutations

import pyarrow.parquet as pq
import pytest

from tests.processes import python
from workflow_scripts.core.files import hash_text
from workflow_scripts.core.items import read_items
from workflow_scripts.core.records import read_record
from workflow_scripts.evaluation.mmlu import LETTERS

pytestmark = pytest.mark.slow  # importing lighteval takes ten seconds

SUBJECTS, PER_SUBJECT = 5, 2
BLANK_LINES = {"installed": 3, "published": 1}

CHILD = """
import json, sys
from pathlib import Path

import datasets
import torch

datasets.disable_progress_bars()
torch.set_num_threads(1)
from lighteval.logging.evaluation_tracker import EvaluationTracker
from lighteval.metrics.metrics import Metrics
from lighteval.models.transformers.transformers_model import TransformersModelConfig
from lighteval.pipeline import ParallelismManager, Pipeline, PipelineParameters
from lighteval.tasks.registry import Registry
from lighteval.tasks.requests import Doc
from workflow_scripts.evaluation import mmlu
from workflow_scripts.evaluation.score_cache import ScoreCache
from workflow_scripts.hub.mirror import mirror
from workflow_scripts.settings.compute import Compute
from workflow_scripts.evaluation.requests import MmluRequest

manifest, hub, out, subjects, per_subject = sys.argv[1:]
manifest, hub, out, per_subject = Path(manifest), Path(hub), Path(out), int(per_subject)
request = MmluRequest(shots=5, prompt="installed", max_items_per_subject=per_subject, seed=0,
                      compute=Compute(device="cpu", dtype="float32", batch_size=4))
load_all = mmlu.load_subjects
results = {}
data = [hub / "datasets/lighteval/mmlu/manifest.json"]

def evaluate(name, request):
    mmlu.evaluate_mmlu(manifest, data, out / f"{name}.json", request.to_params())

def load_first_subjects(*arguments):
    tasks = load_all(*arguments)[: int(subjects)]
    for task in tasks:
        # One token per answer, because an untrained model would not stop after a letter.
        task.generation_size = task.config.generation_size = 1
    return tasks

mmlu.load_subjects = load_first_subjects
configs = [task.config for task in load_first_subjects("installed", 5)]
load = mmlu.load_model

def load_answering_model(*arguments, **options):
    # An untrained model would always answer the same; this one answers with letters and other tokens.
    loaded = load(*arguments, **options)
    words = (" A", " B", " C", " D", "\\n", ".")
    ids = [loaded.tokenizer(word).input_ids[-1] for word in words]

    def answer(_module, _inputs, logits):
        logits = logits.clone()
        logits[..., ids] = 50 + torch.sin(100 * logits[..., ids] + torch.arange(len(ids)))
        return logits

    loaded.model.get_output_embeddings().register_forward_hook(answer)
    return loaded

mmlu.load_model = load_answering_model

# lighteval's own model and loop, with a registry of only these tasks
loaded = load_answering_model(manifest, device="cpu", dtype="float32", attention="auto")
tracker = EvaluationTracker(output_dir=str(out / "reference"))
Registry.load_all_task_configs = staticmethod(lambda *_, **__: {c.name: c for c in configs})
with mirror(hub):
    pipeline = Pipeline(
        tasks=",".join(f"{config.name}|5" for config in configs),
        pipeline_parameters=PipelineParameters(
            launcher_type=ParallelismManager.NONE, max_samples=per_subject, bootstrap_iters=1),
        evaluation_tracker=tracker,
        model=loaded.model,
        model_config=TransformersModelConfig(
            model_name="alias/model", tokenizer=str(manifest.parent), dtype="float32", batch_size=4,
            device="cpu", cache_dir=str(out / "cache"), override_chat_template=False),
    )
    pipeline.model._cache = None
    pipeline.evaluate()
results["reference"] = {
    mmlu.get_subject(name.split("|")[0]): dict(values)
    for name, values in tracker.metrics_logger.metric_aggregated.items()
}
results["answers"] = {
    f"{mmlu.get_subject(name.split('|')[0])}/{detail.doc.id}": detail.model_response.text[0]
    for name, details in tracker.details_logger.details.items()
    for detail in details
    if detail.model_response.text
}

evaluate("whole", request)
evaluate("published", request.model_copy(update={"prompt": "published"}))

# interrupted after 20 answers, and resumed
add, stored = ScoreCache.add, []

def add_or_interrupt(self, key, value):
    if len(stored) == 20:
        raise KeyboardInterrupt
    stored.append(key)
    add(self, key, value)

ScoreCache.add = add_or_interrupt
try:
    evaluate("resumed", request)
except KeyboardInterrupt:
    results["cache_bytes"] = (out / ".resumed.scored").stat().st_size
ScoreCache.add = add
computed = []
ScoreCache.add = lambda self, *item: (computed.append(1), add(self, *item))
evaluate("resumed", request)
results["computed"] = len(computed)

# baselines of two questions whose key is A and one whose key is C
docs = [Doc(query="", choices=[" A", " B", " C", " D"], gold_index=gold) for gold in (0, 0, 2)]
results["baselines"] = {
    metric.metric_name: [(baseline := mmlu.compute_baseline(metric, docs)).constants, baseline.chance]
    for metric in configs[0].metrics
}
assert "lm_eval" not in sys.modules
print(json.dumps(results))
"""


def format_mmlu_prompt(lines, blank_lines):
    """Build HELM's prompt from its description; the last line is the question."""
    subject = lines[0]["subject"].replace("_", " ")
    prompt = f"The following are multiple choice questions (with answers) about {subject}."
    prompt += "\n" * (1 + blank_lines)
    for line in lines:
        prompt += f"Question: {line['question']}\n"
        for letter, choice in zip(LETTERS, line["choices"], strict=True):
            prompt += f"{letter}. {choice}\n"
        prompt += "Answer:"
        if line is not lines[-1]:
            prompt += f" {LETTERS[line['answer']]}\n\n"
    return prompt


@pytest.fixture(scope="module")
def run(world, model_manifest, tmp_path_factory):
    out = tmp_path_factory.mktemp("mmlu")
    options = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(out)}
    output = python(CHILD, model_manifest, world, out, SUBJECTS, PER_SUBJECT, **options)
    record = read_record(out / "whole.json")
    items = read_items(out / "whole.parquet").to_pylist()
    return json.loads(output.splitlines()[-1]), record, items, out


def test_numbers_equal_lighteval(run):
    output, record, items, _ = run
    reference = output["reference"]
    average = reference.pop("all")
    for metric in record.metrics:
        if metric.subset:
            values = reference[metric.subset]
            assert metric.value == pytest.approx(values[metric.name])
            assert metric.stderr == pytest.approx(values[f"{metric.name}_stderr"])
            assert metric.n == PER_SUBJECT
    averages = {metric.name: metric.value for metric in record.metrics if not metric.subset}
    for name in ("em", "qem", "acc"):
        assert averages[f"{name}_macro"] == pytest.approx(average[name])
    assert 0 < averages["em"] < averages["qem"], "a full stop equals an A under qem"
    assert {item["item"]: item["text"] for item in items} == output["answers"]
    assert record.items.n == len(items) == SUBJECTS * PER_SUBJECT
    for item in items:
        scores = dict(item["scores"])
        assert item["correct"] == (scores["em"] == 1) == (item["prediction"] == item["gold"])
        likeliest = LETTERS[max(range(4), key=item["loglikelihoods"].__getitem__)]
        assert scores["acc"] == (likeliest == item["gold"])
    assert record.protocol.engine == "prefix sharing"


def test_mmlu_prompts(run, world):
    """Check each prompt against all orders of its five examples, because lighteval samples the order."""
    for prompt, file in (("installed", "whole"), ("published", "published")):
        for item in read_items(run[3] / f"{file}.parquet").to_pylist():
            subject, number = item["item"].split("/")
            folder = world / f"datasets/lighteval/mmlu/{subject}"
            dev, test = (
                pq.read_table(folder / f"{split}-00000-of-00001.parquet").to_pylist()
                for split in ("dev", "test")
            )
            prompts = (
                format_mmlu_prompt([*order, test[int(number)]], BLANK_LINES[prompt])
                for order in permutations(dev)
            )
            assert item["prompt_sha256"] in map(hash_text, prompts)


def test_mmlu_resumed_record(run):
    output, record, items, out = run
    assert output["cache_bytes"] > 0
    assert output["computed"] == len(items) * 5 - 20, "an answer and four letters per question"
    resumed = read_record(out / "resumed.json").serialize_stable()
    assert resumed.replace("resumed", "whole") == record.serialize_stable()


def test_mmlu_baselines(run):
    baselines = run[0]["baselines"]
    letters = {"A": 2 / 3, "B": 0, "C": 1 / 3, "D": 0}
    assert baselines["acc"][0] == pytest.approx(letters)
    assert baselines["em"][0] == pytest.approx(letters | {".": 0})
    # HELM's normalisation turns both "A" and a full stop into the empty string.
    assert baselines["qem"][0] == pytest.approx(letters | {".": 2 / 3})
    assert {chance for _, chance in baselines.values()} == {0.25}
