"""The figures of the published scores: what is written in them, and the one that the README shows."""

import pytest

from tests.unit.studies.published.published_study import ROOT, made


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("agreement_figure", ["direct\nmean agreement 0.517\n(0.322 to 0.713 over families)"]),
        ("categories_figure", ["Language\nUnderstanding"]),
        ("components_figure", ["61 models, all families", "26 models, Qwen alone"]),
        ("compute_figure", ["FLOP of pre-training, 6 × parameters × tokens"]),
        ("text_agreement_figure", ["Wikipedia", "arXiv", "Stack Exchange"]),
        ("task_pair_figure", []),
    ],
)
def test_a_figure_says_what_it_shows(name, words):
    assert set(words) <= set(made()[1][name])


def test_the_readme_shows_the_figure_that_is_drawn_now():
    """As it was committed: whoever changes how it is drawn copies it from results/figures."""
    shown = "docs/figures/published_agreement.png"
    readme = (ROOT / "README.md").read_text()
    assert readme.index(f"]({shown})") == readme.index("](docs/figures/"), "it opens with it"
    drawn = made()[0] / "agreement_figure.png"
    assert drawn.read_bytes() == (ROOT / shown).read_bytes()
