"""The figures of the published scores: what is written in them, and the one that the README shows."""

import pytest
from matplotlib.text import Text

from tests.unit.settings.test_tables import LM_HARMONY_MODELS, LM_HARMONY_TASKS
from tests.unit.studies.published.published_study import ROOT, SETTINGS, WORDS, made
from workflow_scripts.paper.products import wanted
from workflow_scripts.render import figures
from workflow_scripts.render.figures import save_both
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.studies.ranking import (
    agreement,
    agreement_by_task,
    bits,
    by_size,
    categories,
    components,
    matrices,
    pearson,
    price,
    sizes,
    text_pairs,
    texts,
    two_tasks,
    variance,
)

DRAWN = {
    "published_agreement": (matrices, agreement),
    "published_agreement_by_task": (agreement_by_task, agreement),
    "published_agreement_by_size": (by_size, by_size),
    "published_agreement_pearson": (pearson, agreement),
    "published_bits": (bits, bits),
    "published_categories": (categories, categories),
    "published_components": (components, components),
    "published_compute": (sizes, sizes),
    "published_perplexity": (texts, texts),
    "published_price": (price, price),
    "published_text_pairs": (text_pairs, text_pairs),
    "published_variance": (variance, variance),
    "published_ranks": (two_tasks, two_tasks),
}
OVER_FAMILIES = ("(0.322 to 0.713 over families)", "(0.604 to 0.907 over families)")
NAMES = [model.split("/")[1] for model in LM_HARMONY_MODELS]


def draw(name: str, folder) -> list[str]:
    """Draw a figure, and tell what is written in it."""
    written = []

    def listen(fig, *paths):
        written.extend(text.get_text() for text in fig.findobj(Text) if text.get_visible())
        save_both(fig, *paths)

    module, of = DRAWN[name]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(figures, "save_both", listen)
        table = Inputs({"table": made() / f"{of.TABLE.name}.csv"})
        module.FIGURE.draw(table, WORDS, folder / f"{name}.pdf", folder / f"{name}.png")
    return written


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("published_agreement", [f"direct\nmean agreement 0.517\n{OVER_FAMILIES[0]}"]),
        ("published_agreement", [f"train-before-test\nmean agreement 0.755\n{OVER_FAMILIES[1]}"]),
        ("published_agreement_by_task", [*LM_HARMONY_TASKS, "direct", "train-before-test"]),
        ("published_bits", ["Wikipedia", "arXiv", "Stack Exchange", "direct", "train-before-test"]),
        ("published_text_pairs", ["Wikipedia", "Stack\nExchange", "arXiv"]),
        ("published_agreement", LM_HARMONY_TASKS * 2),
        (
            "published_agreement_pearson",
            ["direct\nmean agreement 0.662\n(0.477 to 0.848 over families)"],
        ),
        ("published_agreement_by_size", ["all models\n61 models", "5B to 10B\n22 models"]),
        ("published_categories", ["Physics/\nBiology/\nChemistry", "Language\nUnderstanding"]),
        ("published_components", ["61 models, all families", "26 models, Qwen alone"]),
        (
            "published_compute",
            ["FLOP of pre-training, 6 × parameters × tokens", "hollow: instruct"],
        ),
        ("published_variance", ["5B to 10B, direct", "model and task together", "15"]),
        ("published_price", ["chosen", "cheapest first", "all trained again"]),
        ("published_perplexity", ["Wikipedia", "arXiv", "Stack Exchange", *LM_HARMONY_TASKS]),
    ],
)
def test_a_figure_says_what_it_shows(name, words, tmp_path):
    texts = draw(name, tmp_path)
    for word in words:
        assert texts.count(word) >= words.count(word), word


def test_the_two_tasks_name_every_model_at_both_sides_under_both_protocols(tmp_path):
    texts = draw("published_ranks", tmp_path)
    for name in NAMES:
        left = [text for text in texts if text.rsplit(" ", 1)[0] == name]
        right = [text for text in texts if text.split(" ", 1)[-1] == name and text != name]
        assert (len(left), len(right)) == (2, 2), name


def test_the_readme_shows_the_figure_that_is_drawn_now(tmp_path):
    """As it was committed: whoever changes how it is drawn copies it from results/figures."""
    shown = "docs/figures/published_agreement.png"
    readme = (ROOT / "README.md").read_text()
    assert readme.index(f"]({shown})") == readme.index("](docs/figures/"), "it opens with it"
    draw("published_agreement", tmp_path)
    assert (tmp_path / "published_agreement.png").read_bytes() == (ROOT / shown).read_bytes()


def test_every_figure_of_the_study_is_made_by_any_config():
    made = wanted(SETTINGS)
    figures = {one.name for one in made if (one.study, one.kind) == ("published", "figure")}
    assert figures == set(DRAWN)
