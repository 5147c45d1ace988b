"""Products of few tokens: the fastest way on the machine at hand, and the same bytes where they are wanted."""

import pytest
import torch

from tests.tiny_models import PLAN, base_model, chunked_model
from tests.unit.chunked.reference import fresh_ids
from workflow_scripts.chunked import products
from workflow_scripts.chunked.products import FEW, WAYS, fastest, fastest_here


@pytest.fixture
def clock(monkeypatch):
    """What each way takes, by its name, in place of a clock; and which were timed."""
    monkeypatch.setattr(products, "_found", {})
    timed = []

    def tell(**seconds):
        def of(way, x, weight, others):
            timed.append(way.__name__)
            return seconds.get(way.__name__, 1.0)

        monkeypatch.setattr(products, "_seconds", of)
        return timed

    return tell


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 2, 7])
@pytest.mark.parametrize("out", [12, 13])
def test_every_way_gives_the_products(way, k, n, out):
    weight = torch.randn(k, out, 10)
    for x in (torch.randn(k, n, 10), torch.randn(1, n, 10).expand(k, -1, -1)):
        expected = torch.einsum("kni,koi->kno", x.double(), weight.double())
        found = way(x, weight)
        assert found.is_contiguous()
        torch.testing.assert_close(found.double(), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("best", WAYS, ids=lambda way: way.__name__)
def test_the_fastest_is_taken_whatever_disturbed_one_round(best):
    # One round in five is undisturbed, for each way another one.
    disturbed = {
        way: iter([9.0] * at + [0.5 if way is best else 1.0] + [9.0] * 9)
        for at, way in enumerate(WAYS)
    }
    assert fastest(WAYS, lambda way: next(disturbed[way])) is best


def test_a_way_that_is_hardly_faster_is_none():
    assert fastest(WAYS, lambda way: 1.0 if way is WAYS[0] else 0.99) is WAYS[0]


def test_each_kind_of_product_is_timed_once_for_each_number_of_threads(clock):
    timed = clock(weights_first=0.1)
    weight = torch.randn(2, 6, 4)
    for _ in range(3):
        assert fastest_here(torch.randn(2, 5, 4), weight).__name__ == "weights_first"
    once = len(timed)
    assert set(timed) == {way.__name__ for way in WAYS}
    clock(layer_by_layer=0.1)
    assert fastest_here(torch.randn(2, 5, 4), weight).__name__ == "weights_first"
    assert fastest_here(torch.randn(2, 4, 4), weight).__name__ == "layer_by_layer"
    before = torch.get_num_threads()
    torch.set_num_threads(before + 1)
    try:
        assert fastest_here(torch.randn(2, 5, 4), weight).__name__ == "layer_by_layer"
    finally:
        torch.set_num_threads(before)
    assert len(timed) == 3 * once


@pytest.mark.parametrize(("width", "read"), [(512, 2**26), (511, 0)])
def test_wide_weights_are_timed_after_as_much_was_read_as_a_cache_holds(width, read, monkeypatch):
    """Repeated at one place they would come from there, where another way may be the fastest than in a model."""
    between = []
    monkeypatch.setattr(products, "_found", {})
    monkeypatch.setattr(torch.Tensor, "sum", lambda tensor: between.append(tensor.nbytes))
    fastest_here(torch.randn(2, 1, 512), torch.randn(2, width, 512))
    assert len(between) >= len(WAYS) and set(between) == {read}


@torch.no_grad()
def test_the_fastest_ways_run_a_model_and_no_clock_changes_one_that_is_to_give_the_same_bytes(
    clock, monkeypatch
):
    model = chunked_model(base_model("qwen2", 6), **PLAN)
    ids = fresh_ids(1, 5)

    def logits(**seconds):
        monkeypatch.setattr(products, "_found", {})
        timed = clock(**seconds)
        before = len(timed)
        return model(ids).logits, len(timed) - before

    of_each = [logits(**{way.__name__: 0.1}) for way in WAYS]
    assert all(count for _, count in of_each)
    model.time_products(False)
    again = [logits(**{way.__name__: 0.1}) for way in WAYS]
    assert not any(count for _, count in again)
    assert all(torch.equal(again[0][0], found) for found, _ in again)
    for found, _ in of_each:
        torch.testing.assert_close(found, again[0][0], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("family", ["qwen2", "qwen3"])
@torch.no_grad()
def test_wide_layers_are_read_piece_by_piece_and_as_the_loop_reads_them(family, monkeypatch):
    monkeypatch.setattr(products, "_WIDE", 8)
    model = chunked_model(base_model(family, 6), **PLAN)
    ids, pieces = fresh_ids(2, FEW), []
    mm = torch.mm
    monkeypatch.setattr(torch, "mm", lambda *a, out: pieces.append(a) or mm(*a, out=out))
    fused = model(ids).logits
    # Queries, keys and values, gate and up, of each of six layers.
    assert len(pieces) == 6 * 5
    model.config.chunk_execution = "loop"
    torch.testing.assert_close(fused, model(ids).logits, atol=1e-5, rtol=1e-5)
