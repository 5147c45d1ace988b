"""The leaderboard's data: its tabs from the tables of the studies, and the file that they become."""

import json
import re
from dataclasses import asdict, replace
from pathlib import Path

import pandas as pd
import pytest

from tests.browser.boards import board, hostile_board, plain_board, row, tab
from tests.records import record_fields
from tests.unit.settings.merged import load
from tests.unit.studies.harmony.harmony_study import (
    MODELS,
    PROTOCOLS,
    TASK_ROWS,
    harmony_grids,
    request,
    study,
    without,
)
from tests.written import written
from workflow_scripts.core.errors import UserError
from workflow_scripts.core.files import sha256_file, sha256_text
from workflow_scripts.core.items import Item
from workflow_scripts.core.records import Metric, write_record
from workflow_scripts.paper.leaderboard import leaderboard
from workflow_scripts.paper.requests import LeaderboardPage
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.render.web.board import read_tab
from workflow_scripts.render.web.page import LIBRARY, leaderboard_page
from workflow_scripts.studies.chunking.board import chunked_tab
from workflow_scripts.studies.harmony.board import harmony_tab
from workflow_scripts.studies.prompts.board import prompts_tab
from workflow_scripts.studies.ranking.components import TABLE as COMPONENTS
from workflow_scripts.studies.ranking.components import components
from workflow_scripts.studies.ranking.leaderboard import TABLE as RANKING
from workflow_scripts.studies.ranking.leaderboard import leaderboard as ranking
from workflow_scripts.studies.suite.table_requests import suite_about


def values(shown, field):
    return {one.id: one.values[field] for one in shown.rows}


# The file


def test_the_same_board_gives_the_same_bytes_and_no_address_to_load_from():
    page = leaderboard_page(plain_board())
    assert page == leaderboard_page(plain_board())
    assert not re.search(r"<script[^>]+src=", page)
    without_scripts = re.sub(r"<script.*?</script>", "", page, flags=re.S)
    assert not re.search(r"<(?:link|img|iframe)\b|@import|url\(", without_scripts)
    assert "sourceMappingURL" not in page


def test_text_of_strangers_cannot_end_the_data_it_stands_in():
    page = leaderboard_page(hostile_board())
    assert page.count("<script") == page.count("</script>") == 5
    for found in re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.S):
        assert not set("<>&\u2028\u2029") & set(found)
        for line in found.split("\n"):
            json.loads(line)
    page.encode("utf-8")


def test_a_number_that_is_not_finite_is_named():
    shown = tab([row(0, "a", average=float("nan"))])
    with pytest.raises(UserError, match="not finite"):
        leaderboard_page(board(shown))


def test_two_rows_of_one_id_are_refused():
    with pytest.raises(UserError, match="Two rows of the tab suite"):
        leaderboard_page(board(tab([row(0, "a"), row(0, "b")])))


def test_the_library_is_the_one_that_its_readme_names():
    named = re.findall(r"`([\w.]+)` \| `([0-9a-f]{64})`", (LIBRARY / "README.md").read_text())
    assert len(named) == 2
    assert all(sha256_file(LIBRARY / name) == digest for name, digest in named)
    version = re.search(r"`tabulator-tables` ([\d.]+)", (LIBRARY / "README.md").read_text())[1]
    assert f"Tabulator v{version} " in (LIBRARY / "tabulator.min.js").read_text()[:100]
    assert "MIT" in (LIBRARY / "LICENSE").read_text()


def test_a_tab_is_read_back_as_it_was_written(tmp_path):
    (tmp_path / "tab.json").write_text(json.dumps(asdict(plain_board().tabs[0])))
    assert read_tab(tmp_path / "tab.json") == plain_board().tabs[0]


# The tabs


def harmony(folder: Path, scores: pd.DataFrame, **changes):
    scores.to_parquet(folder / "scores.parquet")
    asked = request(**changes)
    grids = harmony_grids(scores, [], asked)
    ranked = ranking(grids, asked)
    made = harmony_tab(
        str(written(RANKING, ranked, folder, asked).csv),
        str(written(COMPONENTS, components(grids, asked), folder, asked).csv),
        str(folder / "scores.parquet"),
        list(TASK_ROWS),
        PROTOCOLS,
    )
    after = ranked[ranked["protocol"] == "train_before_test"].set_index("label")
    return made, after, ranked


def test_the_ranking_after_training_stands_beside_the_one_before(tmp_path):
    shown, after, ranking = harmony(tmp_path, study())
    assert shown.title == "Train before test"
    assert "PC1" in shown.about and "% of their variance" in shown.about
    assert values(shown, "pc1") == pytest.approx(after["pc1"].to_dict())
    assert values(shown, "rank") == after["rank"].to_dict()
    before = ranking[ranking["protocol"] == "direct"].set_index("label")
    assert values(shown, "rank_direct") == before["rank"].to_dict()
    assert values(shown, "mnli_stderr") == pytest.approx(after["mnli_stderr"].to_dict())
    assert set(values(shown, "mnli_n").values()) == {400}
    (first,) = [one for one in shown.rows if one.values["rank"] == 1]
    (task,) = [task for task in first.details.tasks if task["task"] == "MNLI"]
    assert task["direct"] == pytest.approx(before["mnli"][first.id])
    assert task["n"] == 400
    low, high = after.loc[first.id, ["rank_low", "rank_high"]]
    assert first.details.facts["Rank train-before-test, 95% interval"] == f"{low:.0f} to {high:.0f}"


def test_a_model_that_lacks_a_task_says_that_its_rank_rests_on_an_estimate(tmp_path):
    lacking = MODELS[0]
    shown, _, _ = harmony(tmp_path, without(study(), lacking, "mnli", "train_before_test"))
    (found,) = [one for one in shown.rows if one.id == lacking]
    assert found.values["rank"] is not None
    assert found.values["mnli"] is None
    assert found.notes == ["estimated: MNLI"]


def test_without_training_the_ranking_is_the_direct_one(tmp_path):
    shown, _, ranking = harmony(tmp_path, study(("direct",)), protocols=("direct",))
    assert shown.title == "Ranking by PC1"
    assert values(shown, "pc1") == pytest.approx(ranking.set_index("label")["pc1"].to_dict())


def test_two_models_have_a_share_without_an_interval(tmp_path):
    shown, _, _ = harmony(tmp_path, study(models=MODELS[:2]), models=MODELS[:2])
    assert "It holds 100% of their variance." in shown.about


def prompt_files(folder: Path) -> dict:
    rows = [
        {"model": "a/b", "variant": None, "run": "run2", "changed": "JSON", "n": 4, "micro": 0.5}
        | {"micro_stderr": 0.25, "macro": 0.5, "macro_stderr": 0.25, "floor": 0.25, "p": None}
        | {"format_met": 1.0, "strict_share": None, "after": "run1", "pairs": 4.0, "won": 2.0}
        | {"difference": -0.25, "lost": 3.0, "published_micro": None, "published_macro": None},
    ]
    pd.DataFrame(rows).to_csv(folder / "runs.csv", index=False)
    subject = {"subject": "high_school_biology", "model": "a/b", "variant": None, "run": "run2"}
    subject |= {"n": 4, "acc": 0.5, "stderr": 0.25, "floor": 0.25}
    subject |= {"acc_strict": 0.5, "format_met": None}
    pd.DataFrame([subject]).to_csv(folder / "subjects.csv", index=False)
    items = [
        Item(
            item=f"anatomy/{at}",
            subset="anatomy",
            prompt_sha256=sha256_text(str(at)),
            gold="A",
            prediction="A" if right else None,
            correct=right,
            scores={"acc": float(right)},
            text="<b>A</b>",
        )
        for at, right in enumerate([True] * 5 + [False] * 5)
    ]
    fields = record_fields(study="prompts", model="a/b", task="run2", value=0.5, n=10)
    fields["metrics"] = [
        Metric(name="acc", value=0.5, stderr=0.1, n=10, best_constant=0.25, chance=0.25)
    ]
    write_record(folder / "run2.json", items, **fields)
    return {
        "runs": folder / "runs.csv",
        "by_subject": folder / "subjects.csv",
        "records": [folder / "run2.json"],
    }


def test_a_prompt_run_has_its_subjects_and_some_answers(tmp_path):
    shown = prompts_tab(**prompt_files(tmp_path))
    (run,) = shown.rows
    assert run.id == "a/b/run2"
    assert "Published: of Llama-3.2-1B-Instruct on the real MMLU." in shown.about
    assert run.values["difference"] == -0.25
    assert run.values["micro_n"] == 4
    assert run.values["p"] is None
    assert run.details.facts["Right only there"] == 3
    assert run.details.tasks[0]["subject"] == "high school biology"
    assert [item.right for item in run.details.items] == [True] * 3 + [False] * 3
    assert run.details.items[0].answer == "<b>A</b>"
    hidden = {column.field for column in shown.columns if not column.shown}
    assert "model" in hidden  # it is the same one everywhere


def test_a_chunked_variant_joins_plan_training_and_mmlu(tmp_path):
    base = {"model": "a/b"}
    variants = [None, "@k2m2", "@k2m2+cpt"]
    plan = base | {"variant": "@k2m2", "plan": "0 [1|2] 3", "depth": 3, "layers": 4}
    plan |= {"parameters": 10, "new_parameters": 2, "fused_from_loop": 1e-5, "fused_from_base": 1}
    unchanged = plan | {"variant": "@k0m0", "plan": "0 1 2 3", "depth": 4}
    plans = pd.DataFrame([unchanged, plan]).assign(dtype="float32")
    plans.to_csv(tmp_path / "plans.csv", index=False)
    stages = [
        base | {"variant": one, "stage": "untrained", "recipe": None, "trained_parameters": None, "steps": None}
        | {"tokens": None, "held_out_loss": None, "wikitext": 9.5 + at, "wikitext stderr": 0.5}
        for at, one in enumerate(variants)
    ]  # fmt: skip
    pd.DataFrame(stages).to_csv(tmp_path / "stages.csv", index=False)
    mmlu = [
        base | {"variant": one, "subject": subject, "n": 4, "floor": 0.25, "published_qem": None}
        | dict.fromkeys(("qem", "em", "acc"), 0.5)
        | {"published_stderr": None}
        | {f"{metric}_{of}": 0.1 for metric in ("qem", "em", "acc") for of in ("stderr", "z")}
        for one in variants
        for subject in ("macro", "anatomy")
    ]  # fmt: skip
    pd.DataFrame(mmlu).to_csv(tmp_path / "mmlu.csv", index=False)
    files = {name: [str(tmp_path / f"{name}.csv")] for name in ("plans", "stages", "mmlu")}
    shown = chunked_tab(**files)
    assert values(shown, "depth") == {"a/b": 4, "a/b@k2m2": 3, "a/b@k2m2+cpt": 3}
    assert "a/b@k0m0" not in values(shown, "name"), (
        "it is the original, and has no scores of its own"
    )
    assert values(shown, "ppl wikitext")["a/b@k2m2+cpt"] == 11.5
    assert values(shown, "mmlu_acc")["a/b"] == 0.5
    assert values(shown, "mmlu_acc_n")["a/b"] == 4
    stages = {"a/b": "original", "a/b@k2m2": "untrained", "a/b@k2m2+cpt": "trained: cpt"}
    assert values(shown, "stage") == stages
    assert [task["subject"] for task in shown.rows[0].details.tasks] == ["macro", "anatomy"]
    assert not any(one.notes for one in shown.rows)
    gone = {"n": None, **dict.fromkeys(("qem", "em", "acc"))}
    broken = [row | gone if row["variant"] == "@k2m2" else row for row in mmlu]
    pd.DataFrame(broken).to_csv(tmp_path / "mmlu.csv", index=False)
    notes = {one.id: one.notes for one in chunked_tab(**files).rows}
    assert notes == {"a/b": [], "a/b@k2m2": ["Not measured: MMLU"], "a/b@k2m2+cpt": []}
    without_plans = chunked_tab(**files | {"plans": []})
    assert "depth" not in {column.field for column in without_plans.columns}


def test_a_study_that_is_not_there_has_no_tab(tmp_path):
    suite = replace(plain_board().tabs[0], id="suite")
    (tmp_path / "suite.json").write_text(json.dumps(asdict(suite)))
    inputs = {
        "suite": Inputs({"tab": tmp_path / "suite.json"}),
        "prompts": Inputs(prompt_files(tmp_path)),
    }
    made = leaderboard(inputs, LeaderboardPage(source="miniature", seed=0, tasks=(), protocols={}))
    assert [one.id for one in made.tabs] == ["suite", "prompts"]
    assert "miniature" in made.about
    real = leaderboard(
        inputs, LeaderboardPage(source="huggingface", seed=0, tasks=(), protocols={})
    )
    assert "miniature" not in real.about
    imported = leaderboard(inputs, LeaderboardPage(source=None, seed=0, tasks=(), protocols={}))
    assert "miniature" not in imported.about
    assert imported.provenance["Models and data"] == "scores from elsewhere"
    assert '<a href="index.html">The report</a>' in leaderboard_page(made)
    rules = suite_about(load({}))
    told = LeaderboardPage(source="miniature", seed=0, tasks=(), protocols={}, suite=rules)
    assert [one.id for one in leaderboard(inputs, told).texts] == ["about", "faq"]
    assert not leaderboard({"prompts": inputs["prompts"]}, told).texts, "it is about the suite"
