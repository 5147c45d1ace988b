"""What is expected of plans that nobody has trained, from some that were, in a world with a known rule."""

import numpy as np
import pandas as pd
import pytest

from tests.written import written
from workflow_scripts.core.ids import CheckpointId
from workflow_scripts.core.plan_search import Prediction, sensitivities
from workflow_scripts.settings.plan_search import PlanSearch
from workflow_scripts.studies.chunking.requests import SearchedModels
from workflow_scripts.studies.recovery.expected import TABLE, candidate_of, expected_table

MODEL, LAYERS = "org/name", 12
ASKED = SearchedModels(
    models=[MODEL], search=PlanSearch(models=[MODEL], speed_ups=(1.2, 1.5)), seed=0
)
FORM = "-residual-noadapters-distil.logits"
TRAINED = [
    f"@k2m2{FORM}",
    f"@k2m3{FORM}",
    f"@k3m2-after1{FORM}",
    "@prune4-distil.logits",
    "@prune6-7-distil.logits",
]
LEFT = {"chunks": 0.3, "left out": 0.6}  # of a plan's cost, after training


@pytest.fixture
def prediction():
    generator = np.random.default_rng(4)
    return Prediction(
        LAYERS, {one.name: generator.uniform(0.1, 2) for one in sensitivities(LAYERS)}
    )


def kept_of(prediction, noise=0.0):
    generator, rows = np.random.default_rng(9), []
    for variant in TRAINED:
        kind = "left out" if "prune" in variant else "chunks"
        cost = prediction.of(candidate_of(LAYERS, CheckpointId.parse(MODEL + variant)))
        left = LEFT[kind] * (1 + noise * generator.normal())
        rows.append((f"{variant}+recovery.100k", kind, 102_400, np.exp(-cost * left)))
        rows.append((variant, kind, 0, np.exp(-cost)))  # untrained: of no use here
    table = pd.DataFrame(rows, columns=["variant", "kind", "tokens", "kept"])
    return table.assign(model=MODEL, measure="wikitext", kept_stderr=0.01, learns_from="logits")


def test_where_each_plan_keeps_the_same_share_all_are_foretold_exactly(prediction, tmp_path):
    table = expected_table(MODEL, prediction, kept_of(prediction), ASKED)
    # What learned otherwise is no example of these.
    others = kept_of(prediction).assign(learns_from="both", kept=0.5)
    apart = expected_table(MODEL, prediction, pd.concat([kept_of(prediction), others]), ASKED)
    alike = apart[apart["learns_from"] == "logits"].reset_index(drop=True)
    pd.testing.assert_frame_equal(alike, table.reset_index(drop=True))
    seen = table.dropna(subset=["kept"])
    assert len(seen) == len(TRAINED)
    assert list(seen["expected"]) == pytest.approx(list(seen["kept"]))
    assert set(table["role"]) == {"proposed", "evenly spaced", "trained"}
    assert (
        table["n"] == table["kind"].map({"chunks": 3, "left out": 2}) - table["kept"].notna()
    ).all()
    for _, alike in table.groupby(["kind", "depth"]):
        best = alike[alike["role"] == "proposed"]["expected"]
        even = alike[alike["role"] == "evenly spaced"]["expected"]
        assert even.empty or best.max() >= even.max()
    TABLE.write(table, ASKED, **{kind: tmp_path / f"t.{kind}" for kind in ("csv", "md", "tex")})
    pd.testing.assert_frame_equal(TABLE.read(tmp_path / "t.csv"), table)


def test_where_shares_differ_the_interval_is_around_what_is_expected(prediction):
    table = expected_table(MODEL, prediction, kept_of(prediction, noise=0.2), ASKED)
    known = table[table["n"] > 1]
    assert ((known["low"] < known["expected"]) & (known["expected"] < known["high"])).all()
    assert table.loc[table["n"] == 1, "low"].isna().all()


def test_trained_plans_are_known_by_the_names_that_a_search_has():
    names = ("k2m3", "k3m2-after1", "k2m4-sequential_with_shared_start_and_end", "prune3-5")
    for name in names:
        assert (
            candidate_of(
                LAYERS, CheckpointId.parse(f"{MODEL}@{name}{FORM if name[0] == 'k' else ''}")
            ).name
            == name
        )
    assert candidate_of(LAYERS, CheckpointId.parse(f"{MODEL}@k4m3-sequential")) is None


def test_a_plan_that_was_trained_in_two_forms_has_two_rows_each_beside_its_own_kind(prediction):
    table = expected_table(MODEL, prediction, kept_of(prediction), ASKED)
    kept = kept_of(prediction)
    other = kept[kept["variant"] == f"@k2m3{FORM}+recovery.100k"].assign(
        variant="@k2m3-residual-distil.logits+recovery.100k", kept=0.99
    )
    both = expected_table(MODEL, prediction, pd.concat([kept, other]), ASKED)
    adapted = both[both["plan"] == "k2m3-residual"]
    assert adapted["kept"].tolist() == [0.99] and adapted["n"].tolist() == [0]
    form = "-residual-noadapters"
    plain = both[both["plan"].str.endswith(form)].assign(
        plan=lambda rows: rows["plan"].str.removesuffix(form)
    )
    before = table[table["kind"] == "chunks"]
    numbers = ["plan", "expected", "low", "high", "kept", "n"]
    pd.testing.assert_frame_equal(
        plain[numbers].reset_index(drop=True), before[numbers].reset_index(drop=True)
    )


@pytest.mark.parametrize("loss", [0.0, -0.002, 1e-9])
def test_a_plan_that_costs_nothing_untrained_says_nothing_of_others(prediction, loss):
    losses = prediction.losses | {"prune4": loss}
    free = Prediction(LAYERS, losses)
    kept = kept_of(free).assign(kept=lambda rows: rows["kept"] * 1.01)
    table = expected_table(MODEL, free, kept, ASKED)
    left_out = table[(table["kind"] == "left out") & table["kept"].notna()]
    assert np.isfinite(table["expected"].dropna()).all() and len(left_out) == 2
    assert (table["low"] <= table["high"])[table["low"].notna()].all()


def test_a_plan_that_costs_nothing_is_no_one_of_those_that_others_are_expected_from(prediction):
    """The table says of how many it is, and gives nothing where it knows nothing."""
    free = Prediction(LAYERS, prediction.losses | {"prune4": -0.002})
    kept = kept_of(free)
    table = expected_table(MODEL, free, kept, ASKED)
    rows = table[table["kind"] == "left out"].set_index("plan")
    assert rows.loc["prune6-7", "n"] == 0 and pd.isna(rows.loc["prune6-7", "expected"])
    assert rows.loc["prune4", "n"] == 1 and pd.isna(rows.loc["prune4", "expected"])
    others = rows.drop(["prune6-7", "prune4"])
    assert (others["n"] == 1).all() and others["expected"].notna().all()


def test_what_would_be_kept_many_times_over_is_a_number_that_fits_a_table(prediction, tmp_path):
    """A plan that costs little and learned the text better than the unchanged model says so of all others."""
    cheap = Prediction(LAYERS, prediction.losses | {"prune4": 0.0101})
    kept = kept_of(cheap)
    kept.loc[kept["variant"].str.startswith("@prune4"), "kept"] = 1.5
    table = expected_table(MODEL, cheap, kept, ASKED)
    assert np.isfinite(table["expected"].dropna()).all() and table["expected"].max() > 1e6
    text = written(TABLE, table, tmp_path, ASKED).md
    assert max(len(cell) for line in text.splitlines() for cell in line.split("|")[8:]) < 30


def test_a_form_that_was_trained_otherwise_alone_has_no_rows_of_dashes(prediction):
    kept = kept_of(prediction)
    chunks = kept[kept["kind"] == "chunks"]
    adapted = chunks.assign(
        variant=chunks["variant"].str.replace("-residual-noadapters-distil.logits", "-distil.both"),
        learns_from="both",
    )
    table = expected_table(MODEL, prediction, pd.concat([kept, adapted]), ASKED)
    rows = table[table["kind"] == "chunks"]
    marked = rows["plan"].str.endswith("-residual-noadapters")
    assert (rows.loc[marked, "learns_from"] == "logits").all() and marked.any()
    assert (rows.loc[~marked, "learns_from"] == "both").all() and (~marked).any()
    assert rows["expected"].notna().all()
