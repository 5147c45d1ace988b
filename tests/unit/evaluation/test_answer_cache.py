"""Keys and values of answers: where a step puts them, and what its attention makes of them."""

import numpy as np
import pytest
import torch
from transformers.cache_utils import DynamicLayer

from tests.unit.evaluation.drawn import Operations
from workflow_scripts.evaluation.prefix import answer_cache
from workflow_scripts.evaluation.prefix.answer_cache import AnswerCache, CacheShape
from workflow_scripts.evaluation.prefix.cache import TreeCache

HEADS = (2, 2, 3)  # of the layers' keys
WIDTH, LANES, PER_LANE = 8, 2, 3


def read_cache(dtype=torch.float32) -> TreeCache:
    read = TreeCache(7)
    for number, heads in enumerate(HEADS):
        read.update(*torch.randn(2, 1, heads, 7, WIDTH, dtype=dtype), number)
    return read


def cache_of(dtype=torch.float32, read: TreeCache | None = None) -> AnswerCache:
    cache = AnswerCache(read or read_cache(dtype), CacheShape(5, 6, LANES, PER_LANE, 3))
    for layer in cache.layers:
        for buffer in buffers_of(layer):
            buffer.normal_()
    return cache


def test_a_step_puts_its_keys_where_each_row_ends_and_moves_no_other():
    cache = cache_of()
    lengths, cache.step.seen = torch.tensor([4, 0, 2]), 5
    cache.step.begin(lengths)
    for number, heads in enumerate(HEADS):
        layer: DynamicLayer = cache.layers[number]
        expected = [layer.keys.clone(), layer.values.clone()]
        # As a model gives them: heads behind tokens, turned.
        new = torch.randn(2, 3, 1, heads, WIDTH).transpose(2, 3)
        for of_what, values in zip(expected, new, strict=True):
            for row, length in enumerate(lengths):
                of_what[row, :, length] = values[row, :, 0]
        with Operations() as noting:
            found = cache.update(*new, number)
        assert torch.equal(layer.keys, expected[0]) and torch.equal(layer.values, expected[1])
        assert [one.shape for one in found] == [(3, heads, 5, WIDTH)] * 2
        assert torch.equal(found[0], expected[0][:3, :, :5])
        # Which on a GPU, where kernels are to be deterministic, would copy the buffer twice.
        assert not [name for name in noting.names if "index_put" in name]


def test_rows_and_lanes_are_filled_with_what_was_read_all_in_as_many_steps_as_one():
    rows = [(4, np.array([6, 0, 3])), (0, np.array([1])), (2, np.array([5, 5, 4, 2, 0, 1]))]
    lanes = [(1, np.array([2, 3])), (0, np.array([0, 4, 6]))]
    read = read_cache()
    cache = cache_of(read=read)
    before = [[buffer.clone() for buffer in buffers_of(layer)] for layer in cache.layers]
    with Operations() as noting:
        cache.fill_rows(rows)
        cache.fill_lanes(lanes)
    for layer, source, buffers in zip(cache.layers, read.layers, before, strict=True):
        for at, (of_what, buffer) in enumerate(zip(buffers_of(layer), buffers, strict=True)):
            values = (source.keys, source.values)[at % 2][0]
            for number, entries in rows if at < 2 else lanes:
                buffer[number, :, : len(entries)] = values[:, entries]
            assert torch.equal(of_what, buffer)
    with Operations() as alone:
        cache.fill_rows(rows[:1])
        cache.fill_lanes(lanes[:1])
    assert len(alone.names) == len(noting.names)
    cache.fill_rows([])


def buffers_of(layer) -> list[torch.Tensor]:
    return [layer.keys, layer.values, layer.start_keys, layer.start_values]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_scores_of_a_gpu_are_not_rounded_to_sixteen_bits(dtype, monkeypatch):
    torch.manual_seed(3)
    cache = cache_of(dtype)
    cache.step.seen, cache.step.lanes_in_use = 5, LANES
    cache.step.begin(torch.tensor([4, 1, 2, 3, 0]))
    rows = {0: (0, 0), 2: (0, 2), 3: (1, 1)}
    for row, (lane, place) in rows.items():
        cache.members[lane, place] = row
        cache.places[row] = lane * PER_LANE + place
    keys, values = cache.update(*torch.randn(2, 5, HEADS[0], 1, WIDTH, dtype=dtype), 0)
    query = 3 * torch.randn(5, 2 * HEADS[0], 1, WIDTH, dtype=dtype)
    mask = torch.zeros(5, 1, 1, 3 + 5)
    mask[[1, 4], :, :, :3] = -1e9  # they sit in no lane

    def attended(dtype: torch.dtype) -> torch.Tensor:
        for layer in cache.layers:
            layer.start_keys, layer.start_values = (
                x.to(dtype) for x in (layer.start_keys, layer.start_values)
            )
        given = (x.to(dtype) for x in (query, keys, values))
        return cache.attend(None, *given, mask, scaling=0.5)[0].double()

    exact, products = attended(torch.float64), []

    def in_float32(a, b, out_dtype):
        products.append(a.to(out_dtype) @ b.to(out_dtype))
        return products[-1]

    monkeypatch.setattr(answer_cache, "_are_narrow_on_gpu", lambda numbers: True)
    monkeypatch.setattr(torch, "bmm", in_float32)
    torch.testing.assert_close(attended(dtype), exact, atol=2e-2, rtol=2e-2)
    assert [one.dtype for one in products] == [torch.float32] * 2  # on its lane's keys, and its own
    wide = torch.einsum(
        "rhgw,rhkw->rhgk", *(x.double() for x in (query.view(5, 2, 2, WIDTH), keys))
    )
    scores = answer_cache._scores(query.view(5, 2, 2, WIDTH), keys)
    torch.testing.assert_close(scores.double(), wide, atol=1e-4, rtol=1e-5)
