"""Chunks spread over devices: here over shares of the processor's threads, by the code that GPUs run."""

import copy
import threading

import pytest
import torch
from transformers import AutoModelForCausalLM, DynamicCache, StaticCache

from tests.tiny_models import PLAN, base_model, chunked_model
from tests.unit.chunked.reference import assert_equal, fresh_ids, reference_logits
from workflow_scripts.chunked import layer_order
from workflow_scripts.chunked.layer_order import ChunkStage
from workflow_scripts.chunked.side_by_side import side_by_side

PLANS = [
    PLAN,
    {"num_layers_per_chunk": 2, "num_chunks": 3, "aggregation_mode": "mean", "use_adapters": False},
    {"num_layers_per_chunk": 1, "num_chunks": 4, "aggregation_mode": "last"},
]
CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def one_thread():
    """So that a device's share of them is what the plain loop has, and sums are taken alike."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def columns_of(model):
    (stage,) = [stage for stage in model.model.stages if isinstance(stage, ChunkStage)]
    return stage.columns


def of_family(family="qwen2", layers=8, **keys):
    base = base_model(family, layers)
    return base, chunked_model(base, **(keys or PLAN))


def spread(model, devices=2, execution=None):
    again = copy.deepcopy(model)
    again.config.chunk_execution = execution or model.config.chunk_execution
    again.spread(["cpu"] * devices)
    return again


@pytest.fixture
def threads_of(monkeypatch):
    """The threads in which the layers and the depths of a model ran."""

    def watch(model):
        seen = set()
        for column in columns_of(model):
            numbers = [number for row in column.numbers for number in row]
            for module in [*column.depths, *(model.model.layers[number] for number in numbers)]:

                def noted(*args, _run=module.forward, **kwargs):
                    seen.add(threading.current_thread().name)
                    return _run(*args, **kwargs)

                monkeypatch.setattr(module, "forward", noted)
        return seen

    return watch


@pytest.mark.parametrize("family", ["qwen2", "qwen3", "llama"])
@pytest.mark.parametrize("keys", PLANS)
@pytest.mark.parametrize("devices", [2, 3])
@torch.inference_mode()
def test_the_loop_spread_is_the_loop_to_the_last_bit(family, keys, devices):
    base, model = of_family(family, **keys)
    ids = fresh_ids(2, 7)
    mask = torch.ones_like(ids)
    mask[0, :3] = 0
    model.config.chunk_execution = "loop"
    over = spread(model, devices)
    assert torch.equal(
        over(ids, attention_mask=mask).logits, model(ids, attention_mask=mask).logits
    )
    assert_equal(over(ids).logits, reference_logits(base, model, ids))
    written = {"max_new_tokens": 5, "do_sample": False, "attention_mask": mask}
    assert torch.equal(over.generate(ids, **written), model.generate(ids, **written))


@pytest.mark.parametrize("family", ["qwen2", "qwen3", "llama"])
@pytest.mark.parametrize("keys", PLANS)
@pytest.mark.parametrize("devices", [2, 3])
@torch.inference_mode()
def test_the_fused_chunks_of_each_device_give_the_reference_with_and_without_a_cache(
    family, keys, devices
):
    base, model = of_family(family, **keys)
    over, ids = spread(model, devices), fresh_ids(2, 7)
    expected = reference_logits(base, model, ids)
    assert_equal(over(ids).logits, expected)
    assert over.model.layers.run.fused
    for cache in (
        DynamicCache(config=over.config),
        DynamicCache(),  # grows as it is filled
        StaticCache(config=over.config, max_cache_len=7),
    ):
        steps = [over(ids[:, :4], past_key_values=cache).logits]
        steps += [over(ids[:, at : at + 1], past_key_values=cache).logits for at in (4, 5, 6)]
        assert_equal(torch.cat(steps, dim=1), expected)


@pytest.mark.parametrize("execution", ["fused", "loop"])
@torch.no_grad()
def test_each_device_has_a_thread_of_its_own_and_one_device_none(execution, threads_of):
    _, model = of_family()
    ids = fresh_ids(1, 4)
    over = spread(model, execution=execution)
    seen = threads_of(over)
    over(ids)
    assert sorted(name.partition("_")[0] for name in seen) == ["chunks-0", "chunks-1"]
    alone = spread(model, devices=1, execution=execution)
    seen = threads_of(alone)
    alone(ids)
    assert seen == {threading.current_thread().name}


@torch.no_grad()
def test_all_devices_are_sent_their_inputs_before_any_of_them_works(monkeypatch):
    """A copy would wait for what the first device, which it comes from, has been given to do."""
    _, model = of_family()
    over, ids, order = spread(model, devices=3), fresh_ids(1, 4), []
    expected = model(ids).logits
    send, forward = layer_order.send_to_device, layer_order.DeviceChunks.forward

    def noted_send(*args):
        order.append(("sent", threading.current_thread().name))
        return send(*args)

    def noted_forward(column, *args, **kwargs):
        order.append(("ran", None))
        return forward(column, *args, **kwargs)

    monkeypatch.setattr(layer_order, "send_to_device", noted_send)
    monkeypatch.setattr(layer_order.DeviceChunks, "forward", noted_forward)
    # The same processor by another name, so that inputs are sent there.
    monkeypatch.setattr(layer_order.DeviceChunks, "device", torch.device("cpu", 0))
    assert_equal(over(ids).logits, expected)
    columns = len(columns_of(over))
    sent = [("sent", threading.current_thread().name)] * columns
    assert order == [*sent, *[("ran", None)] * columns]


@torch.no_grad()
def test_what_threads_would_spoil_runs_in_turn(threads_of):
    _, model = of_family()
    ids = fresh_ids(1, 4)
    over = spread(model)
    seen = threads_of(over)
    growing = DynamicCache()
    assert_equal(over(ids, past_key_values=growing).logits, model(ids).logits)
    over(ids, output_attentions=True)
    over.train()(ids)
    assert seen == {threading.current_thread().name}


def test_gradients_pass_through_the_threads():
    """As when it is asked which tokens mattered; nothing is trained."""
    _, model = of_family()
    over, ids = spread(model), fresh_ids(2, 5)
    found = []
    for one in (model, over):
        embedded = one.get_input_embeddings()(ids).detach().requires_grad_()
        one(inputs_embeds=embedded).logits.square().sum().backward()
        found.append(embedded.grad)
    assert found[1].abs().sum() > 0
    assert torch.allclose(*found, rtol=1e-4, atol=1e-4 * float(found[0].abs().max()))


@pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad, torch.enable_grad])
def test_a_thread_works_in_the_modes_of_its_caller(mode):
    def modes():
        seen.append((torch.is_inference_mode_enabled(), torch.is_grad_enabled()))
        return torch.ones(2, 2) @ torch.ones(2, 2)

    seen = []
    with mode():
        plain = side_by_side([modes, modes], [CPU, CPU])
        here = torch.is_inference_mode_enabled(), torch.is_grad_enabled()
        with torch.autocast("cpu", torch.bfloat16):
            narrowed = side_by_side([modes, modes], [CPU, CPU])
    assert seen == [here] * 4
    assert {x.dtype for x in plain} == {torch.float32}
    assert {x.dtype for x in narrowed} == {torch.bfloat16}


def test_threads_share_the_processor_and_leave_the_callers_number_alone():
    torch.set_num_threads(4)

    def threads():
        return torch.tensor(torch.get_num_threads())

    assert [int(x) for x in side_by_side([threads] * 2, [CPU] * 2)] == [2, 2]
    assert [int(x) for x in side_by_side([threads] * 3, [CPU] * 3)] == [1, 1, 1]
    assert torch.get_num_threads() == 4
    born = []
    thread = threading.Thread(target=lambda: born.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    assert born == [4], "threads that others start later are no device's"


def test_an_error_in_one_thread_is_the_callers_and_waits_for_the_others():
    ended = threading.Event()

    def fails():
        raise ValueError("broken")

    def lasts():
        threading.Event().wait(0.2)
        ended.set()
        return torch.ones(1)

    with pytest.raises(ValueError, match="broken"):
        side_by_side([fails, lasts], [CPU, CPU])
    assert ended.is_set()


@torch.no_grad()
def test_a_model_that_was_spread_can_be_moved_saved_and_put_back(tmp_path):
    _, model = of_family()
    over, ids = spread(model), fresh_ids(2, 5)
    expected = model(ids).logits
    over(ids)
    over.double().float()
    assert_equal(over(ids).logits, expected)
    over.save_pretrained(tmp_path)
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert torch.equal(loaded(ids).logits, model(ids).logits)
    over.spread(["cpu"])
    assert torch.equal(over(ids).logits, model(ids).logits)


@pytest.mark.parametrize("keys", PLANS)
@pytest.mark.parametrize("execution", ["fused", "loop"])
def test_shapes_without_memory(keys, execution):
    _, model = of_family(**keys)
    model.config.chunk_execution = execution
    model.spread(["meta", "meta"])
    ids = torch.zeros(2, 5, dtype=torch.long, device="meta")
    out = model(ids)
    assert out.logits.shape == (2, 5, model.config.vocab_size)
    filled = [layer for layer in out.past_key_values.layers if layer.is_initialized]
    assert filled and all(layer.keys.device.type == "meta" for layer in filled)


@pytest.mark.gpus(2)
@pytest.mark.parametrize("execution", ["fused", "loop"])
@pytest.mark.parametrize("keys", PLANS)
@torch.inference_mode()
def test_two_gpus_give_what_one_gives(keys, execution):
    base, model = of_family(**keys)
    model.config.chunk_execution = execution
    ids = fresh_ids(2, 5)
    expected = reference_logits(base, model, ids)
    model.spread([0, 1])
    assert [column.device.index for column in columns_of(model)] == [0, 1]
    assert torch.allclose(model(ids.cuda()).logits.cpu(), expected, atol=1e-4)
    aside = torch.cuda.Stream(0)
    with torch.cuda.stream(aside):  # copies between devices follow the caller's stream
        written = model.generate(ids.cuda(), max_new_tokens=4, do_sample=False)
    aside.synchronize()
    model.spread(["cpu"])
    assert torch.equal(written.cpu(), model.generate(ids, max_new_tokens=4, do_sample=False))
