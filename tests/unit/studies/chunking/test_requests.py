"""What the config has measured of chunked models."""

from workflow_scripts.studies.chunking.products import MEASURED

from tests.unit.settings.merged import load
from workflow_scripts.studies.training.requests import untrained_texts

MODEL = "miniature/Qwen2-1M-Instruct"
CHUNKING, LATENCY = MEASURED


def test_what_untrained_plans_write_is_a_text_where_the_config_asks_for_it():
    checkpoints = [{"model": MODEL, "num_layers_per_chunk": 12}]
    settings = load({"chunking": {"checkpoints": checkpoints}})
    assert untrained_texts(settings) == ["magpie (easy)", "wikitext"]
    writing = {"checkpoints": checkpoints, "measures": {"written_tokens": 9}}
    written = load({"chunking": writing})
    assert untrained_texts(written) == ["magpie (easy)", "wikitext", "written"]
    added = set(CHUNKING.records(written)) - set(CHUNKING.records(settings))
    assert added == {f"results/records/chunking/perplexity/{MODEL.replace('/', '--')}/written.json"}


def test_times_are_taken_of_other_models_or_of_none_where_the_config_says_so():
    def made(*models):
        measures = {"latency_models": list(models), "latency_layers": [2]}
        return LATENCY.records(load({"chunking": {"measures": measures}}))

    other = "results/records/latency/latency/miniature--Qwen2-1M/mmlu.json"
    assert made("miniature/Qwen2-1M") == [other] and made() == []
