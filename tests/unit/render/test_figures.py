"""Test that axis labels are readable for any range of values and any label length."""

from itertools import pairwise

import pytest
from PIL import Image, ImageOps

from workflow_scripts.render.figures import open_figure, set_log_axis
from workflow_scripts.render.text import format_perplexity


@pytest.mark.parametrize(("high", "width"), [(4.5, 2.3), (20_000, 2.3)])
def test_log_axis_labels_stand_apart(tmp_path, high, width):
    files = [tmp_path / "figure.pdf", tmp_path / "figure.png"]
    with open_figure(files, width, 2) as (fig, axes):
        axes.plot([0.7, 0.7 * high], [0, 1], "o")
        set_log_axis(axes, format_perplexity)
        fig.canvas.draw()
        low, top = axes.get_xlim()
        shown = zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
        labels = [label.get_window_extent() for tick, label in shown if low <= tick <= top]
    assert len(labels) >= 2
    assert all(left.x1 < right.x0 for left, right in pairwise(labels))


def test_long_label_is_not_cut_off(tmp_path):
    files = [tmp_path / "figure.pdf", tmp_path / "figure.png"]
    with open_figure(files, 3, 2) as (_, axes):
        axes.set_ylabel("speedup at generation over the unchanged model")
    image = ImageOps.invert(Image.open(files[1]).convert("L"))
    left, top, right, bottom = image.getbbox()
    assert min(left, top) > 0 and right < image.width and bottom < image.height
