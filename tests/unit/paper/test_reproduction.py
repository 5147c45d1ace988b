"""Published numbers beside ours: agreeing, differing, and not comparable, each with its reason."""

import math
from pathlib import Path

import pandas as pd
import pytest
from scipy.stats import norm

from tests.unit.paper.test_reproduction_grid import harmony_settings, panel, reruns
from workflow_scripts.paper.reproduction import format_columns
from workflow_scripts.render.verdict import (
    AGREES,
    DIFFERS,
    GENERATED,
    INCONCLUSIVE,
    LIMIT,
    NOT_COMPARABLE,
    NOT_MEASURED,
    make_table,
    same_answers,
    verdict,
    with_margins,
    within,
)
from workflow_scripts.settings.mmlu import MmluComparison
from workflow_scripts.studies.harmony.published import (
    compare_harmony,
)
from workflow_scripts.studies.mmlu.published import compare_mmlu
from workflow_scripts.studies.prompts.published import compare_prompts
from workflow_scripts.studies.prompts.requests import PromptComparison

PUBLISHED = Path(__file__).parents[3] / "resources/published"
MODEL = "Qwen/Qwen2.5-0.5B-Instruct"
LLAMA = "meta-llama/Llama-3.2-1B-Instruct"


@pytest.mark.parametrize(
    ("ours", "expected"),
    [
        (0.30, INCONCLUSIVE),
        (0.30 + 1.9 * 0.0141, INCONCLUSIVE),
        (0.30 + 2.1 * 0.0142, DIFFERS),
        (0.25, DIFFERS),
    ],
)
def test_two_standard_errors_of_the_difference_decide(ours, expected):
    found = verdict(0.30, 0.01, ours, 0.01, None, printed_to=1e-4)
    assert found["verdict"] == expected
    assert found["difference"] == pytest.approx(ours - 0.30)
    assert found["z"] == pytest.approx((ours - 0.30) / math.hypot(0.01, 0.01))


def test_a_missing_published_error_is_taken_to_be_as_large_as_ours():
    found = verdict(0.30, None, 0.32, 0.01, None, printed_to=1e-4)
    assert found["z"] == pytest.approx(0.02 / math.hypot(0.01, 0.01))


def test_without_spread_only_what_rounding_hides_agrees():
    assert verdict(0.3333, 0.0, 1 / 3, 0.0, None, printed_to=1e-4)["verdict"] == INCONCLUSIVE
    found = verdict(0.0, 0.0, 0.5, 0.0, None, printed_to=1e-4)
    assert found["verdict"] == DIFFERS
    assert found["z"] == math.inf


def test_what_cannot_be_compared_has_a_reason_and_no_difference():
    found = verdict(0.3, 0.01, 0.3, 0.01, GENERATED, printed_to=1e-4)
    assert found.pop("verdict") == NOT_COMPARABLE
    assert found.pop("because") == GENERATED
    assert set(found.values()) == {None}
    assert verdict(0.3, 0.01, None, None, None, printed_to=1e-4)["because"] == NOT_MEASURED


def test_what_surely_lies_within_the_margin_agrees_and_what_may_not_is_inconclusive():
    """By the two tests of equivalence, each at 5%, written out; and nothing that was shown to differ agrees."""
    cases = [(0.005, 0.008), (0.005, 0.010), (0.015, 0.008), (0.001, 0.0004), (0.018, 0.001)]
    rows = [verdict(0.3, None, 0.3 + d, None, None, printed_to=0, error=e) for d, e in cases]
    found = with_margins(make_table(rows), pd.Series([0.02] * 5))["verdict"].tolist()
    expected = []
    for difference, error in cases:
        above, below = (norm.sf((0.02 + sign * difference) / error) for sign in (1, -1))
        differs = abs(difference) >= LIMIT * error
        agrees = AGREES if max(above, below) < 0.05 else INCONCLUSIVE
        expected.append(DIFFERS if differs else agrees)
    assert found == expected == [AGREES, INCONCLUSIVE, INCONCLUSIVE, DIFFERS, DIFFERS]
    smallest = rows[0]["smallest"]
    assert norm.sf(LIMIT - smallest / 0.008) == pytest.approx(0.8, abs=0.001)


def test_a_rank_differs_outside_of_our_interval_and_agrees_where_all_of_that_is_near():
    ranks = make_table([within(3, 2, 4, None), within(3, 2, 9, None), within(9, 2, 4, None)])
    found = with_margins(ranks, pd.Series([2] * 3))["verdict"]
    assert found.tolist() == [AGREES, INCONCLUSIVE, DIFFERS]


def test_a_rank_is_compared_with_our_interval():
    assert within(3, 2, 4, None)["verdict"] == INCONCLUSIVE
    assert within(5, 2, 4, None)["verdict"] == DIFFERS
    assert within(3, None, None, None)["because"] == NOT_MEASURED


def test_where_the_error_of_the_difference_is_known_no_sampling_counts():
    found = verdict(0.30, 0.05, 0.33, 0.05, None, printed_to=1e-4, error=0.01)
    assert found["verdict"] == DIFFERS
    assert found["z"] == pytest.approx(3)
    assert (
        verdict(0.30, None, 0.33, None, None, printed_to=1e-4, error=0.02)["verdict"]
        == INCONCLUSIVE
    )


def test_of_the_same_questions_asked_again_a_few_in_a_thousand_may_turn():
    error = same_answers(1000, step=1 / 1000)
    assert (
        verdict(0.500, 0.02, 0.501, 0.02, None, printed_to=0, error=error)["verdict"]
        == INCONCLUSIVE
    )
    assert verdict(0.500, 0.02, 0.504, 0.02, None, printed_to=0, error=error)["verdict"] == DIFFERS


# --- MMLU


def mmlu_settings(**changes) -> MmluComparison:
    asked = {
        "source": "huggingface",
        "checkpoints": {
            "mmlu_baseline": MODEL,
            "mmlu_k2m12_cpt": f"{MODEL}@k2m12-mlp.none-adapters4864-init.normal+cpt",
        },
    }
    return MmluComparison.of(asked | changes)


def published_mmlu() -> dict[str, pd.DataFrame]:
    return {
        name: pd.read_csv(PUBLISHED / f"{name}.csv") for name in ("mmlu_baseline", "mmlu_k2m12_cpt")
    }


def our_mmlu(moved: str = "", by: float = 0.0) -> pd.DataFrame:
    """Of the model as it is, the published numbers themselves; of one subject something else."""
    rows = []
    for row in pd.read_csv(PUBLISHED / "mmlu_baseline.csv").itertuples():
        subject = "macro" if row.task == "all" else row.task.split(":")[2]
        shift = by if subject == moved else 0.0
        rows.append(
            {
                **{"subject": subject, "model": MODEL, "variant": "", "n": 100},
                **{"qem": row.value + shift, "qem_stderr": row.stderr},
            }
        )
    return pd.DataFrame(rows).query("subject != '_average'")


def test_every_subject_and_the_average_of_each_table_is_compared():
    table = make_table(compare_mmlu(published_mmlu(), our_mmlu(), mmlu_settings()))
    assert len(table) == 2 * 58
    ours = table[table["source"] == "mmlu_baseline"]
    assert (ours["verdict"] == INCONCLUSIVE).all()
    assert (ours["z"] == 0).all()
    others = table[table["source"] == "mmlu_k2m12_cpt"]
    assert set(others["because"]) == {NOT_MEASURED}


def test_a_subject_that_differs_differs_alone():
    table = make_table(compare_mmlu(published_mmlu(), our_mmlu("virology", 0.3), mmlu_settings()))
    assert table.loc[table["verdict"] == DIFFERS, "item"].tolist() == ["virology"]


def test_the_error_of_the_published_average_follows_from_the_subjects():
    table = make_table(compare_mmlu(published_mmlu(), None, mmlu_settings()))
    subjects = table[(table["source"] == "mmlu_baseline") & (table["item"] != "macro")]
    macro = table[(table["source"] == "mmlu_baseline") & (table["item"] == "macro")].iloc[0]
    assert macro["published_stderr"] == pytest.approx(
        math.sqrt((subjects["published_stderr"] ** 2).sum()) / 57
    )
    assert macro["published_stderr"] < 0.01  # and not the 0.0339 that is printed beside it


@pytest.mark.parametrize(
    ("changes", "because"),
    [
        ({"source": "miniature"}, GENERATED),
        ({"checkpoints": {}}, f"the published variant, {MODEL}, is not in the config"),
    ],
)
def test_mmlu_is_not_compared_where_another_model_was_asked(changes, because):
    table = make_table(compare_mmlu(published_mmlu(), our_mmlu(), mmlu_settings(**changes)))
    assert table.loc[table["source"] == "mmlu_baseline", "because"].unique().tolist() == [because]
    assert table["z"].isna().all()


# --- Prompt runs


def prompt_settings(**changes) -> PromptComparison:
    runs = {str(run): f"run{run}" for run in range(1, 8)} | {"4": "run4_first285"}
    asked = {
        "source": "huggingface",
        "checkpoint": LLAMA,
        "max_items_per_subject": None,
        "runs": runs,
    }
    return PromptComparison.of(asked | changes)


def our_runs() -> pd.DataFrame:
    published = pd.read_csv(PUBLISHED / "prompt_runs.csv", dtype=str)
    scores = {(row.run, row.metric): float(row.percent) / 100 for row in published.itertuples()}
    return pd.DataFrame(
        {
            **{"model": LLAMA, "variant": "", "run": run, "n": 285 if number == "4" else 14_042},
            **{"micro": scores[number, "micro"], "micro_stderr": 0.004},
            **{"macro": scores.get((number, "macro"), 0.4), "macro_stderr": 0.004},
        }
        for number, run in prompt_settings().runs.items()
    )


def compared_runs(ours: pd.DataFrame | None, **changes) -> pd.DataFrame:
    published = pd.read_csv(PUBLISHED / "prompt_runs.csv")
    return make_table(compare_prompts(published, ours, prompt_settings(**changes)))


def test_the_same_prompt_scores_agree_and_others_differ():
    assert (compared_runs(our_runs())["verdict"] == INCONCLUSIVE).all()
    ours = our_runs()
    ours.loc[ours["run"] == "run2", "micro"] += 0.05
    table = compared_runs(ours)
    assert table.loc[table["verdict"] == DIFFERS, "item"].tolist() == ["run 2"]


def test_run_four_has_the_error_of_its_few_questions():
    table = compared_runs(our_runs()).set_index(["item", "metric"])
    assert table.loc[("run 4", "micro"), "published_stderr"] > 0.02
    assert table.loc[("run 5", "micro"), "published_stderr"] < 0.005


def test_a_prompt_run_that_broke_was_not_measured():
    ours = our_runs().astype({"n": "Int64"})
    ours.loc[ours["run"] == "run2", ["n", "micro", "micro_stderr", "macro", "macro_stderr"]] = None
    table = compared_runs(ours)
    assert table.loc[table["item"] == "run 2", "because"].tolist() == [NOT_MEASURED]
    assert (table.loc[table["item"] != "run 2", "verdict"] == INCONCLUSIVE).all()


def test_prompt_runs_of_fewer_questions_are_not_compared():
    ours = our_runs().assign(n=342)
    table = compared_runs(ours, max_items_per_subject=6)
    assert set(table["verdict"]) == {NOT_COMPARABLE}
    assert "asked 342 questions here, 14,042 there" in set(table["because"])
    assert set(compared_runs(ours, source="miniature")["because"]) == {GENERATED}
    assert set(compared_runs(None)["because"]) == {NOT_MEASURED}


# --- The table


def test_for_reading_what_was_not_measured_shares_a_line():
    rows = [
        *compare_mmlu(published_mmlu(), our_mmlu("virology", -0.3), mmlu_settings()),
        *compare_harmony(panel(), None, harmony_settings(), reruns()),
    ]
    lines = format_columns(make_table(rows)).to_dict("records")
    assert len(lines) == 58 + 1 + 1
    assert lines[-1]["What"] == "1,586 numbers"
    (virology,) = [line for line in lines if "virology" in line["What"]]
    assert (virology["Difference"], virology["Verdict"]) == ("−0.300", "differs")
