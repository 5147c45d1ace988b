"""Train many adapters beside one another, each as `train` would by itself."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from workflow_scripts.core.seeds import derive_seed, seed_everything
from workflow_scripts.planning.memory import ROW_ON_A_CPU, adapters_at_once, room_on
from workflow_scripts.training import attention
from workflow_scripts.training.activations import StepMemory
from workflow_scripts.training.lesson import Lesson
from workflow_scripts.training.precision import calculating_in, choose_precision
from workflow_scripts.training.together.dropout import Dropout
from workflow_scripts.training.together.group import Outcome, SharedTrainings
from workflow_scripts.training.together.products import Groups
from workflow_scripts.training.together.saved import Saved
from workflow_scripts.training.together.stack import AdapterStack, adapter_bytes
from workflow_scripts.training.trained_parameters import (
    choose_parts,
    gathered_parameters,
    report,
    set_parameters,
)

# Kinds of packing in which no sample looks at another's numbers.
_APART = ("varlen", "stretches", "flash")
# How far a row of several may lie from the same by PEFT's adapters, calculated exactly or in 16 bits.
_ALIKE = {True: 1e-4, False: 3e-2}


def train_together(
    load: Callable[[str], Any],
    lessons: list[Lesson],
    state_path: Path,
    *,
    device: str,
    at_once: int,
) -> Iterator[tuple[str, Outcome]] | None:
    """What comes of each lesson as soon as it has ended; None where this model cannot be shared.

    `load` gives the model anew each time, around the same weights. All lessons have the same keys but for
    their rate. At most `at_once` share a step, or as many as a GPU has room for; whoever ends makes room for
    the next.
    """
    keys = lessons[0].keys
    precision = choose_precision(keys.precision, device)
    model = load(precision)
    packing = attention.choose_packing(model, keys)
    beginnings: dict[int, dict[str, Tensor]] = {}
    for seed in dict.fromkeys(lesson.seed for lesson in lessons):
        seed_everything(derive_seed(seed, "training"), device)
        adapted = choose_parts(load(precision), keys)
        beginnings[seed] = gathered_parameters(adapted)
    owners = {lesson.name: lesson.owner for lesson in lessons}
    saved = Saved(state_path, {"lessons": owners, "at_once": at_once})
    stack = AdapterStack(model, adapted, keys, _slots(min(at_once, len(lessons)), adapted, saved))
    if packing not in _APART:
        return None
    if _off_by(stack, adapted, precision) > _ALIKE[precision == "float32"]:
        return None
    about = report(adapted, keys.method)
    about |= {"packing": packing, "attention": model.config._attn_implementation}
    about |= {"precision": precision, "device": device}
    about["gradient_checkpointing"] = False  # a row has the tokens that fit without
    print("\n".join(f"{name}: {value}" for name, value in about.items()), flush=True)
    most = _row_tokens(adapted, precision)
    group = SharedTrainings(stack, adapted, lessons, beginnings, saved, most, about)
    return group.outcomes()


def _slots(wanted: int, adapted, saved: Saved) -> int:
    """So many, if their adapters leave to the rows half of what a GPU has free; and as many as have begun."""
    room = room_on(adapted.device)
    fitting = wanted if room is None else adapters_at_once(wanted, room, adapter_bytes(adapted))
    begun = 1 + max(saved.slots.values(), default=0)
    return max(fitting, begun)


def _row_tokens(adapted, precision: str) -> int:
    """As many as a step has room for that calculates once, beside all adapters that there are.

    It is told from PEFT's adapters, which keep more.
    """
    room = room_on(adapted.device)
    if room is None:
        return ROW_ON_A_CPU
    return max(1, StepMemory.of(adapted, precision).row_within(room))


def _off_by(stack: AdapterStack, adapted, precision: str) -> float:
    """How far a row of all slots lies from what PEFT's adapter gives, in the number formats of a step.

    It is far in a model that draws numbers of its own while training, or reaches around its linear layers.
    Adapters are drawn small: they move the logits by a third of the largest or more, and rounding in 16 bits
    grows with them from layer to layer.
    """
    model = stack.model
    generator = torch.Generator().manual_seed(0)
    before, dropout, slots = gathered_parameters(adapted), stack.dropout, len(stack.values)
    stack.dropout = Dropout(0.0, model.device)
    length = 16
    tokens = torch.randint(
        model.config.get_text_config().vocab_size, (slots, length), generator=generator
    )
    tokens = tokens.to(model.device)
    drawn = [
        {
            name: 0.02 * torch.randn(tensor.shape, generator=generator)
            for name, tensor in before.items()
        }
        for _ in range(slots)
    ]
    try:
        stack.groups = Groups.of([length] * slots, model.device)
        ends = length * torch.arange(slots + 1, dtype=torch.int32, device=model.device)
        apart = attention.rows_apart(model, [length] * slots, ends, range(slots))
        positions = torch.arange(length, device=model.device).repeat(slots)[None]
        with torch.no_grad():
            alone = []
            for slot, tensors in enumerate(drawn):
                stack.put(slot, tensors)
                set_parameters(adapted.eval(), tensors)
                # Entered anew each time, for it keeps casts of parameters, and these change.
                with calculating_in(precision, model.device.type):
                    alone.append(adapted(input_ids=tokens[slot][None], use_cache=False).logits[0])
            inputs = {"input_ids": tokens.reshape(1, -1), "position_ids": positions, **apart}
            with calculating_in(precision, model.device.type):
                found = model.train()(**inputs, use_cache=False).logits[0]
        expected = torch.cat(alone)
        return float((found - expected).abs().max() / expected.abs().max())
    finally:
        stack.dropout = dropout
        set_parameters(adapted, before)
