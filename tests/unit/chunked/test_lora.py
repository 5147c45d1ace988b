"""LoRA in the chunks: batched as the layers are, and the same as PEFT's layers called one by one."""

import copy
from contextlib import contextmanager, nullcontext

import pytest
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from peft.tuners.lora.layer import Linear as LoraLinear
from torch import nn
from transformers import DynamicCache

from tests.tiny_models import FAMILIES, PLAN, base_model, chunked_model
from tests.unit.chunked.reference import fresh_ids
from workflow_scripts.chunked.lora import LoraAdapters

LINEAR = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
# Mostly equal to fifteen digits; but norms round to float32, once in a while to the other side.
CLOSE = 5e-6
TARGETS = {"all linear layers": LINEAR, "queries and values": ["q_proj", "v_proj"]}


def lora(**keys):
    keys = {"r": 3, "lora_alpha": 6, "target_modules": LINEAR, "init_lora_weights": False} | keys
    return LoraConfig(task_type="CAUSAL_LM", exclude_modules=r".*wrapped_chunk_layers.*", **keys)


def adapted(family="qwen2", chunks=2, **keys):
    """A chunked model of float64 with LoRA, in evaluation."""
    base = base_model(family, 2 * chunks + 2)
    model = chunked_model(base, **PLAN | {"num_chunks": chunks}).double()
    return get_peft_model(model, lora(**keys)).double().eval()


@contextmanager
def called():
    """Counts how often a layer with LoRA is called by itself; fused, none ever is."""
    calls, real = [], LoraLinear.forward

    def forward(self, *args, **kwargs):
        calls.append(self)
        return real(self, *args, **kwargs)

    LoraLinear.forward = forward
    try:
        yield calls
    finally:
        LoraLinear.forward = real


@contextmanager
def one_by_one():
    """The same model with each linear layer called by itself, PEFT's as PEFT has them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LoraAdapters, "now", lambda self, x: (False, None))
        yield


@contextmanager
def loop(model):
    """The plain way: one layer after the other. Norms count in float32, each way in its own order,
    so only about six digits are the same."""
    model.config.chunk_execution = "loop"
    yield
    model.config.chunk_execution = "fused"


@torch.no_grad()
def assert_as_peft(model, ids, fused=True):
    """The logits, which PEFT's layers give too; and whether these were left alone."""
    with called() as calls:
        ours = model(ids, use_cache=False).logits
    assert (not calls) == fused
    with one_by_one():
        torch.testing.assert_close(ours, model(ids, use_cache=False).logits, atol=CLOSE, rtol=CLOSE)
    with loop(model.get_base_model() if isinstance(model, PeftModel) else model):
        torch.testing.assert_close(ours, model(ids, use_cache=False).logits, atol=1e-4, rtol=1e-4)
    return ours


def gradients(model, ids):
    model.zero_grad()
    model(ids, labels=ids, use_cache=False).loss.backward()
    return {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}


def assert_same(ours, theirs, close=CLOSE):
    assert ours.keys() == theirs.keys()
    for name in ours:
        torch.testing.assert_close(ours[name], theirs[name], atol=close, rtol=close)


@pytest.mark.parametrize("chunks", [2, 4])
@pytest.mark.parametrize("targets", TARGETS.values(), ids=TARGETS)
@pytest.mark.parametrize("family", FAMILIES)
def test_outputs_and_gradients_are_those_of_pefts_layers(family, targets, chunks):
    model = adapted(family, chunks, target_modules=targets)
    ids = fresh_ids(2, 7)
    with model.disable_adapter():
        without = assert_as_peft(model, ids)
    assert float((assert_as_peft(model, ids) - without).abs().max()) > 1e-3
    with called() as calls:
        ours = gradients(model, ids)
    assert not calls
    with one_by_one():
        assert_same(ours, gradients(model, ids))
    with loop(model.get_base_model()):
        assert_same(ours, gradients(model, ids), 1e-4)
    assert ours.keys() == {name for name in dict(model.named_parameters()) if "lora_" in name}


def test_gradients_where_all_is_trained_and_where_some_matrices_are_frozen():
    model, ids = adapted(), fresh_ids(2, 5)
    for parameter in model.parameters():
        parameter.requires_grad_(True)
    for frozen in ("", "lora_A", "lora_B"):
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(not frozen or frozen not in name)
        ours = gradients(model, ids)
        with one_by_one():
            assert_same(ours, gradients(model, ids))


@pytest.mark.parametrize("family", FAMILIES)
@torch.no_grad()
def test_token_by_token_with_a_cache(family):
    """In both number formats: few tokens in float32 are multiplied in another way."""
    for dtype, close in ((torch.float64, 1e-4), (torch.float32, 1e-3)):
        model = adapted(family).to(dtype)
        ids = fresh_ids(2, 6)
        with loop(model.get_base_model()):
            expected = model(ids, use_cache=False).logits
        cache = DynamicCache(config=model.config)
        with called() as calls:
            steps = [model(ids[:, t : t + 1], past_key_values=cache).logits for t in range(6)]
        assert not calls
        torch.testing.assert_close(torch.cat(steps, dim=1), expected, atol=close, rtol=close)


def test_a_scaling_of_each_layer_and_another_one_later():
    patterns = {r"layers\.2\.self_attn\.q_proj": 30, r"layers\.3\.mlp\.up_proj": 60}
    model, ids = adapted(alpha_pattern=patterns), fresh_ids(2, 5)
    before = assert_as_peft(model, ids)
    scales = {one.scaling["default"] for one in model.modules() if isinstance(one, LoraLinear)}
    assert scales == {2, 10, 20}
    ours = gradients(model, ids)
    with one_by_one():
        assert_same(ours, gradients(model, ids))
    layer = model.get_base_model().model.layers[3].self_attn.v_proj
    layer.scale_layer(4.0)
    assert float((assert_as_peft(model, ids) - before).abs().max()) > 1e-4


def test_what_peft_switches_is_noticed():
    model, ids = adapted(), fresh_ids(2, 5)
    first = assert_as_peft(model, ids)
    with model.disable_adapter():
        without = assert_as_peft(model, ids)
    assert not torch.allclose(first, without, atol=1e-3)
    torch.testing.assert_close(assert_as_peft(model, ids), first)

    model.merge_adapter()
    torch.testing.assert_close(assert_as_peft(model, ids), first)
    with model.disable_adapter(), torch.no_grad():  # here PEFT's layers unmerge when called
        torch.testing.assert_close(model(ids).logits, without)
    model.merge_adapter(safe_merge=True)
    model.unmerge_adapter()
    torch.testing.assert_close(assert_as_peft(model, ids), first)

    model.add_adapter("other", lora(r=2, target_modules=["q_proj", "down_proj"]))
    model.double()
    torch.testing.assert_close(assert_as_peft(model, ids), first)
    model.set_adapter("other")
    assert_as_peft(model, ids, fused=False)  # what only "default" is around is called by itself
    model.set_adapter("default")
    torch.testing.assert_close(assert_as_peft(model, ids), first)
    model.base_model.set_adapter(["default", "other"])
    assert_as_peft(model, ids, fused=False)
    model.set_adapter("default")
    model.delete_adapter("other")
    torch.testing.assert_close(assert_as_peft(model, ids), first)

    merged = model.merge_and_unload(safe_merge=True)
    torch.testing.assert_close(assert_as_peft(merged, ids), first)


def test_two_adapters_take_turns_without_a_layer_called_and_without_moving_weights():
    model, ids = adapted(), fresh_ids(2, 5)
    model.add_adapter("other", lora(r=2))
    model.double()
    first, places = assert_as_peft(model, ids), {p.data_ptr() for p in model.parameters()}
    model.set_adapter("other")
    assert not torch.allclose(assert_as_peft(model, ids), first, atol=1e-3)
    model.set_adapter("default")
    torch.testing.assert_close(assert_as_peft(model, ids), first)
    assert {p.data_ptr() for p in model.parameters()} == places


def test_an_optimiser_steps_the_same_parameters_and_edits_are_seen():
    model, ids = adapted(), fresh_ids(2, 6)
    assert_as_peft(model, ids)
    twin = copy.deepcopy(model)
    before = dict(model.named_parameters())
    for one, way in ((model, nullcontext()), (twin, one_by_one())):
        optimiser = torch.optim.SGD([p for p in one.parameters() if p.requires_grad], lr=0.1)
        with way:
            for _ in range(3):
                gradients(one.train(), ids)
                optimiser.step()
    after = dict(model.named_parameters())
    assert all(after[name] is parameter for name, parameter in before.items())
    assert_same(after, dict(twin.named_parameters()))
    model.eval()
    first = assert_as_peft(model, ids)
    with torch.no_grad():
        model.get_base_model().model.layers[3].mlp.down_proj.lora_B["default"].weight.mul_(3)
    assert not torch.allclose(assert_as_peft(model, ids), first, atol=1e-4)


def test_it_is_saved_under_pefts_names_and_loads(tmp_path):
    model, ids = adapted(), fresh_ids(2, 5)
    plain = copy.deepcopy(model).unload()
    expected = assert_as_peft(model, ids)
    model.save_pretrained(tmp_path)
    loaded = PeftModel.from_pretrained(plain, tmp_path).double().eval()
    torch.testing.assert_close(assert_as_peft(loaded, ids), expected)
    model.load_adapter(tmp_path, "again")
    model.double().set_adapter("again")
    torch.testing.assert_close(assert_as_peft(model, ids), expected)


@pytest.mark.parametrize(
    "keys",
    [
        {"use_dora": True},
        {"lora_bias": True, "target_modules": ["q_proj"]},  # Qwen2's queries have biases
        {"layers_to_transform": [2, 3], "target_modules": ["q_proj"]},
        {"rank_pattern": {"q_proj": 2}, "target_modules": ["q_proj", "v_proj"]},
    ],
    ids=["DoRA", "biases", "not in all siblings", "several ranks"],
)
def test_what_is_not_known_is_left_to_peft(keys):
    model, ids = adapted(**keys), fresh_ids(2, 5)
    assert_as_peft(model, ids, fused=False)
    ours = gradients(model, ids)
    with one_by_one():
        assert_same(ours, gradients(model, ids))


def test_matrices_of_another_number_format_and_hooks_are_left_to_peft():
    model, ids = adapted(target_modules=["v_proj"]), fresh_ids(2, 5)
    layer = model.get_base_model().model.layers[1].self_attn.v_proj
    assert_as_peft(model, ids)
    handle = layer.register_forward_pre_hook(lambda module, args: (2 * args[0],))
    assert_as_peft(model, ids, fused=False)
    handle.remove()
    assert_as_peft(model, ids)
    for one in (layer.lora_A, layer.lora_B):
        one.float()
    with called() as calls, torch.no_grad():
        model(ids)
    assert layer in calls


def test_each_layer_drops_its_own_numbers_and_the_rest_is_scaled_up():
    """With both matrices the identity, an adapter adds what dropout leaves of the input."""
    model = adapted(
        chunks=2, r=32, lora_alpha=32, lora_dropout=0.25, target_modules=["q_proj", "v_proj"]
    )
    for one in model.modules():
        if isinstance(one, LoraLinear):
            nn.init.eye_(one.lora_A["default"].weight)
            nn.init.eye_(one.lora_B["default"].weight)
            nn.init.zeros_(one.base_layer.weight)
            nn.init.zeros_(one.base_layer.bias)
    model(fresh_ids(1, 2))
    (stage,) = [s for s in model.get_base_model().model.stages if len(list(s.depths)) == 2]
    projection = stage.depths[0].qkv
    x = torch.ones(2, 400, 32, dtype=torch.float64)
    model.train()
    for grad in (True, False):
        with called() as calls, torch.set_grad_enabled(grad):
            out = projection(x).detach()
        assert not calls
        queries, _, values = out.split((32, 16, 16), dim=-1)
        drawn = torch.stack([*queries[..., :16], *values])
        kept = drawn > 1e-9
        assert torch.allclose(drawn[kept], torch.tensor(1 / 0.75, dtype=torch.float64))
        assert kept.double().mean(dim=(1, 2)).numpy() == pytest.approx([0.75] * 4, abs=0.03)
        for at in range(4):
            for other in range(at):  # independent: as often equal as two coins of this weight
                same = (kept[at] == kept[other]).double().mean()
                assert float(same) == pytest.approx(0.75**2 + 0.25**2, abs=0.03)
    model.eval()
    assert torch.equal(projection(x)[..., :32], x)


def test_gradients_through_dropout_are_those_of_what_was_drawn():
    model = adapted(lora_dropout=0.3, target_modules=["q_proj", "v_proj"]).train()
    projection = None
    model(fresh_ids(1, 2))
    for stage in model.get_base_model().model.stages:
        projection = stage.depths[0].qkv if projection is None else projection
    layers = projection.adapters.layers
    x = torch.randn(len(projection.groups), 3, 32, dtype=torch.float64, requires_grad=True)
    matrices = [
        one.weight for layer in layers for one in (layer.lora_A["default"], layer.lora_B["default"])
    ]

    def out(*_):
        torch.manual_seed(3)
        return projection(x)

    assert torch.autograd.gradcheck(out, (x, *matrices))


@pytest.mark.parametrize("reentrant", [False, True])
def test_gradient_checkpointing_changes_nothing(reentrant):
    model, ids = adapted(lora_dropout=0.2).train(), fresh_ids(2, 6)
    torch.manual_seed(5)
    plain = gradients(model, ids)
    inner = model.get_base_model()
    inner.gradient_checkpointing_enable({"use_reentrant": reentrant})
    inner.enable_input_require_grads()
    torch.manual_seed(5)
    with called() as calls:
        assert_same(gradients(model, ids), plain)
    assert not calls


def in_bfloat16_with_adapters_in_float32(model):
    """As PEFT makes them, and as they are trained on a GPU."""
    model = copy.deepcopy(model).to(torch.bfloat16)
    for name, parameter in model.named_parameters():
        if "lora_" in name:
            parameter.data = parameter.data.float()
    return model


@torch.no_grad()
def test_over_weights_in_bfloat16_the_adapters_are_calculated_in_float32():
    exact, ids = adapted(), fresh_ids(2, 9)
    expected = exact(ids, use_cache=False).logits
    model = in_bfloat16_with_adapters_in_float32(exact)
    with called() as calls:
        ours = model(ids, use_cache=False).logits
    assert not calls
    with one_by_one():
        theirs = model(ids, use_cache=False).logits
    assert ours.dtype == theirs.dtype == torch.bfloat16
    wrong, as_wrong = ((logits - expected).norm() for logits in (ours, theirs))
    assert wrong < 1.2 * as_wrong + 0.002 * expected.norm()


def test_adapters_in_float32_over_bfloat16_are_trained_fused_under_autocast_alone():
    model, ids = in_bfloat16_with_adapters_in_float32(adapted()), fresh_ids(2, 9)
    with called() as calls, torch.autocast("cpu", torch.bfloat16):
        ours = gradients(model, ids)
    assert not calls
    with one_by_one(), torch.autocast("cpu", torch.bfloat16):
        theirs = gradients(model, ids)
    assert ours.keys() == theirs.keys()
    assert {grad.dtype for grad in ours.values()} == {torch.float32}
    one, other = (torch.cat([g.flatten() for g in some.values()]) for some in (ours, theirs))
    assert float(torch.nn.functional.cosine_similarity(one, other, dim=0)) > 0.95
    with called() as calls:
        gradients(model, ids)
    assert calls


@torch.no_grad()
def test_a_compiled_step_takes_it_whole_and_sees_it_disabled():
    model = adapted().get_base_model()
    ids = fresh_ids(1, 6)
    expected = model(ids).logits
    torch._dynamo.reset()
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(ids).logits, expected)
    for one in model.modules():
        if isinstance(one, LoraLinear):
            one.enable_adapters(False)
    torch.testing.assert_close(compiled(ids).logits, model(ids).logits)
    assert not torch.allclose(compiled(ids).logits, expected, atol=1e-3)
