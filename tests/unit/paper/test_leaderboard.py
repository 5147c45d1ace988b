"""The leaderboard page: its tabs from the tables of the studies, and the file that they become."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from tests.browser.boards import make_hostile_page, make_plain_page
from tests.unit.settings.merged import load
from tests.unit.studies.harmony.harmony_study import (
    MODELS,
    PROTOCOLS,
    SETTINGS,
    TASK_ROWS,
    grids,
    study,
    without,
)
from workflow_scripts.core.files import sha256_file
from workflow_scripts.paper.leaderboard import main
from workflow_scripts.paper.requests import leaderboard_page
from workflow_scripts.render.web.board import LIBRARY
from workflow_scripts.studies.chunking.board import make_chunked_tab
from workflow_scripts.studies.harmony.board import make_harmony_tab
from workflow_scripts.studies.ranking.components import compute_components
from workflow_scripts.studies.ranking.leaderboard import compute_leaderboard


def test_page_is_the_same_bytes_and_names_nothing_to_load():
    page = make_plain_page()
    assert page == make_plain_page()
    assert not re.search(r"<script[^>]+src=", page)
    without_scripts = re.sub(r"<script.*?</script>", "", page, flags=re.S)
    assert not re.search(r"<(?:link|img|iframe)\b|@import|url\(", without_scripts)
    assert "sourceMappingURL" not in page


def test_text_of_strangers_cannot_end_the_data_it_stands_in():
    page = make_hostile_page()
    assert page.count("<script") == page.count("</script>") == 3
    (data,) = re.findall(r'<script type="application/json">(.*?)</script>', page, re.S)
    assert not set("<>&") & set(data)
    assert len(json.loads(data)["rows"]) == 11
    page.encode("utf-8")


def test_library_is_the_one_that_its_readme_names():
    named = re.findall(r"`([\w.]+)` \| `([0-9a-f]{64})`", (LIBRARY / "README.md").read_text())
    assert len(named) == 2
    assert all(sha256_file(LIBRARY / name) == digest for name, digest in named)


def make_harmony(folder: Path, scores: pd.DataFrame, **changes):
    made = grids(scores, **changes)
    ranked = compute_leaderboard(made, 20, 0)
    files = folder / "leaderboard.csv", folder / "components.csv"
    for table, file in zip((ranked, compute_components(made, SETTINGS, 0)), files, strict=True):
        table.to_csv(file, index=False)
    tab = make_harmony_tab(*files, list(TASK_ROWS), PROTOCOLS)
    rows = {row["label"]: row for row in tab.rows}
    return tab, rows, {name: part.set_index("label") for name, part in ranked.groupby("protocol")}


def test_ranking_after_training_stands_beside_the_one_before(tmp_path):
    lacking = MODELS[0]
    tab, rows, ranked = make_harmony(
        tmp_path, without(study(), lacking, "mnli", "train_before_test")
    )
    assert tab.title == "Train before test" and "% of their variance (95%: " in tab.about
    after, before = ranked["train_before_test"], ranked["direct"]
    for label, row in rows.items():
        assert row["pc1"] == pytest.approx(after["pc1"][label])
        assert (row["rank"], row["rank_direct"]) == (after["rank"][label], before["rank"][label])
        assert (row["mnli"] is None) == (label == lacking)
    assert rows[lacking]["note"] == "estimated: MNLI" and not rows[MODELS[1]]["note"]
    assert {"mnli_stderr", "rank_low", "rank_high"} <= set(rows[lacking])


def test_without_training_the_ranking_is_the_direct_one(tmp_path):
    changes = {"protocols": ("direct",), "models": MODELS[:2]}
    tab, _, _ = make_harmony(tmp_path, study(("direct",), models=MODELS[:2]), **changes)
    assert tab.title == "Ranking by PC1"
    assert "It holds 100% of their variance. " in tab.about, "two models have no interval"


def test_a_chunked_checkpoint_joins_plan_training_and_mmlu(tmp_path):
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
    files = {name: [tmp_path / f"{name}.csv"] for name in ("plans", "stages", "mmlu")}
    fields = ("name", "stage", "depth", "wikitext", "wikitext_stderr", "acc", "acc_stderr")
    tab = make_chunked_tab(**files)
    assert [tuple(row[field] for field in fields) for row in tab.rows] == [
        ("a/b", "original", 4, 9.5, 0.5, 0.5, 0.1),
        ("a/b@k2m2", "untrained", 3, 10.5, 0.5, 0.5, 0.1),
        ("a/b@k2m2+cpt", "cpt", 3, 11.5, 0.5, 0.5, 0.1),
    ]
    without_plans = make_chunked_tab(**files | {"plans": []})
    assert "depth" not in {column.field for column in without_plans.columns}


@pytest.mark.parametrize("measures", [True, False])
def test_a_study_that_is_not_there_has_no_tab(tmp_path, measures):
    run = {"model": "a/b", "variant": None, "run": "run2", "changed": "JSON", "n": 4, "micro": 0.5}
    run |= {"micro_stderr": 0.25, "macro": 0.5, "macro_stderr": 0.25, "floor": 0.25, "p": None}
    run |= {"format_met": 1.0, "strict_share": None, "after": "run1", "pairs": 4.0, "won": 2.0}
    run |= {"difference": -0.25, "lost": 3.0, "published_micro": None, "published_macro": None}
    pd.DataFrame([run]).to_csv(tmp_path / "prompt_runs.csv", index=False)
    arguments = leaderboard_page(load({}), measures=measures)
    main([tmp_path / "prompt_runs.csv"], tmp_path / "leaderboard.html", **arguments)
    page = (tmp_path / "leaderboard.html").read_text(encoding="utf-8")
    assert re.findall(r'<section id="(\w+)"', page) == ["prompts"]
    assert ("its models are tiny" in page) == measures
    assert '<a href="index.html">The report</a>' in page
