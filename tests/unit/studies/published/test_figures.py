"""The figures of the published scores: what is written in them, and the one that the README shows."""

import pytest

from tests.unit.settings.test_tables import LM_HARMONY_MODELS, LM_HARMONY_TASKS
from tests.unit.studies.published.published_study import ROOT, made

OVER_FAMILIES = ("(0.322 to 0.713 over families)", "(0.604 to 0.907 over families)")
NAMES = [model.split("/")[1] for model in LM_HARMONY_MODELS]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("agreement_figure", [f"direct\nmean agreement 0.517\n{OVER_FAMILIES[0]}"]),
        ("agreement_figure", [f"train-before-test\nmean agreement 0.755\n{OVER_FAMILIES[1]}"]),
        ("bits_figure", ["Wikipedia", "arXiv", "Stack Exchange", "direct", "train-before-test"]),
        ("text_pairs_figure", ["Wikipedia", "Stack\nExchange", "arXiv"]),
        ("agreement_figure", LM_HARMONY_TASKS * 2),
        (
            "agreement_pearson_figure",
            ["direct\nmean agreement 0.662\n(0.477 to 0.848 over families)"],
        ),
        ("agreement_by_size_figure", ["all models\n61 models", "5B to 10B\n22 models"]),
        ("categories_figure", ["Physics/\nBiology/\nChemistry", "Language\nUnderstanding"]),
        ("components_figure", ["61 models, all families", "26 models, Qwen alone"]),
        (
            "compute_figure",
            ["FLOP of pre-training, 6 × parameters × tokens", "hollow: instruct"],
        ),
        ("variance_figure", ["5B to 10B, direct", "model and task together", "15"]),
        ("text_agreement_figure", ["Wikipedia", "arXiv", "Stack Exchange", *LM_HARMONY_TASKS]),
    ],
)
def test_a_figure_says_what_it_shows(name, words):
    texts = made()[1][name]
    for word in words:
        assert texts.count(word) >= words.count(word), word


def test_the_two_tasks_name_every_model_at_both_sides_under_both_protocols():
    texts = made()[1]["task_pair_figure"]
    for name in NAMES:
        left = [text for text in texts if text.rsplit(" ", 1)[0] == name]
        right = [text for text in texts if text.split(" ", 1)[-1] == name and text != name]
        assert (len(left), len(right)) == (2, 2), name


def test_the_readme_shows_the_figure_that_is_drawn_now():
    """As it was committed: whoever changes how it is drawn copies it from results/figures."""
    shown = "docs/figures/published_agreement.png"
    readme = (ROOT / "README.md").read_text()
    assert readme.index(f"]({shown})") == readme.index("](docs/figures/"), "it opens with it"
    drawn = made()[0] / "agreement_figure.png"
    assert drawn.read_bytes() == (ROOT / shown).read_bytes()
