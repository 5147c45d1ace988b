"""What the check of the leaderboard's requests is asked."""

import json

from tests.unit.settings.merged import load
from workflow_scripts.studies.suite.submissions import (
    CheckRequests,
    as_if_accepted,
    check_requests,
    write_checks,
)

FILES = ["Llama-0.3M.yaml", "Qwen2-1M-Instruct.yaml", "Qwen2-1M-Instruct@k2m12+cpt.yaml"]


def asked(**override) -> CheckRequests:
    return check_requests(
        load(override),
        generated={"Llama-0.3M", "Qwen2-1M-Instruct"},
        source=lambda model, revision: f"hub/{model}@{revision}",
        manifest=lambda checkpoint: f"built/{checkpoint.in_path}",
    )


def test_a_request_says_by_what_it_is_checked_and_where_its_row_will_lie():
    found = asked()
    assert list(found.submissions) == FILES
    model, _, chunked = found.submissions.values()
    assert (model.source, model.built) == ("hub/miniature/Llama-0.3M@None", None)
    assert chunked.built == "built/miniature--Qwen2-1M-Instruct@k2m12+cpt"
    assert model.records["gsm8k"].endswith("few_shot/miniature--Llama-0.3M~float32/gsm8k.json")
    assert list(model.records) == list(model.logs)
    assert CheckRequests.of(json.loads(json.dumps(found.as_params()))) == found


def test_a_name_that_the_generated_world_lacks_is_refused_and_stops_no_other():
    assert asked().refused["Pythia-1M.yaml"] == (
        "name is 'miniature/Pythia-1M', and there is no such model in the miniature world."
    )


def test_a_delta_is_checked_with_its_base(tmp_path):
    keys = {"precision": "float32", "model_type": "fine-tuned", "weight_type": "delta"}
    for file, base in (("a.yaml", "Llama-0.3M"), ("b.yaml", "Nothing")):
        names = {"name": "miniature/Qwen2-1M-Instruct", "base": f"miniature/{base}"}
        (tmp_path / file).write_text(json.dumps(keys | names))
    found = asked(suite={"requests": str(tmp_path)})
    assert found.submissions["a.yaml"].base_source == "hub/miniature/Llama-0.3M@None"
    assert found.refused == {
        "b.yaml": "base is 'miniature/Nothing', and there is no such model in the miniature world."
    }


def test_before_the_check_a_row_is_at_the_commit_of_the_last_one_or_at_any(tmp_path):
    last = tmp_path / "checks.json"
    rows = as_if_accepted(asked(), last)
    assert len({row["commit"] for row in rows}) == 1 and len(rows[0]["commit"]) == 40
    last.write_text(json.dumps([{"row": rows[0]["row"], "commit": "c" * 40}, {"row": None}]))
    first, second, _ = as_if_accepted(asked(), last)
    assert (first["commit"], second["commit"]) == ("c" * 40, rows[1]["commit"])
    assert second["records"] == asked().submissions[FILES[1]].records


def test_the_check_has_an_entry_for_each_file_and_says_why_it_is_not_taken(tmp_path):
    refused = CheckRequests(
        submissions={},
        refused={"b.yaml": "it is no request."},
        aside={"a.yaml": "it is of the hub."},
        memory_mb=1,
        open_licences=(),
        on_gpu=False,
    )
    write_checks({}, refused.as_params(), {"checks": tmp_path / "checks.json"})
    nothing = {"request": None, "row": None, "built": None, "records": {}, "logs": {}}
    assert json.loads((tmp_path / "checks.json").read_text()) == [
        {"file": "a.yaml", **nothing, "reason": "it is of the hub.", "status": "left aside"},
        {"file": "b.yaml", **nothing, "reason": "it is no request."},
    ]
