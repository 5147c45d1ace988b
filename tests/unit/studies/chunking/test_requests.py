"""What the tables of chunked models are asked, from a config and back from a rule's params."""

from pathlib import Path

from workflow_scripts.paper.requests import published_tables
from workflow_scripts.settings.load import load_settings
from workflow_scripts.studies.chunking import products
from workflow_scripts.studies.chunking import requests as chunking
from workflow_scripts.studies.training.requests import compared_checkpoints

ROOT = Path(__file__).parents[4]
MODEL = "miniature/Qwen2-1M-Instruct"


def test_each_request_holds_what_the_config_names_and_comes_back_from_params():
    plan = {"model": MODEL, "num_layers_per_chunk": 12}
    checkpoints = [plan, plan | {"aggregation_base": "none"}]
    settings = load_settings({"chunking": {"checkpoints": checkpoints}}, ROOT)
    for ask in (
        chunking.measured_models,
        compared_checkpoints,
        chunking.sized_checkpoints,
    ):
        asked = ask(settings)
        assert type(asked).of(asked.as_params()) == asked
    measured = chunking.measured_models(settings)
    assert measured.models == (MODEL,)
    assert measured.texts == ("magpie (easy)", "wikitext")
    writing = {"checkpoints": checkpoints, "measures": {"written_tokens": 9}}
    written = load_settings({"chunking": writing}, ROOT)
    assert chunking.measured_models(written).texts == (*measured.texts, "written")
    records = [products.MEASURED[0].records(one) for one in (settings, written)]
    folder = "results/records/chunking/perplexity/miniature--Qwen2-1M-Instruct"
    assert set(records[1]) - set(records[0]) == {f"{folder}/written.json"}
    staged = compared_checkpoints(settings)
    sized = chunking.sized_checkpoints(settings)
    assert staged.checkpoints == tuple(one.id for one in sized.checkpoints)
    assert staged.checkpoints[:3] == (MODEL, f"{MODEL}@k2m12", f"{MODEL}@k2m12+cpt")
    assert {one.layers for one in sized.checkpoints} == {24}
    tables = published_tables(settings)
    assert tables[MODEL] == "mmlu_baseline"
    assert tables[f"{MODEL}@k2m12-mlp.none+cpt"] == "mmlu_k2m12_cpt"
