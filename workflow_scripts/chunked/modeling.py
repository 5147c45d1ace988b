"""Define chunked models: transformers' base models with another execution order of the layers.

`architectures.py` derives one for each supported architecture.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import nn
from transformers import GenerationConfig, PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast

from workflow_scripts.chunked.blockwise_loss import BlockwiseLoss
from workflow_scripts.chunked.configuration import ChunkingKeys
from workflow_scripts.chunked.distillation import (
    compute_hidden_loss,
    compute_logits_loss,
    disable_adapters,
)
from workflow_scripts.chunked.layer_order import PlannedLayers
from workflow_scripts.chunked.published import (
    drop_renamings,
    get_renamings,
    refuse_mismatched_weights,
)
from workflow_scripts.chunked.wrapper import WrappedChunkLayers
from workflow_scripts.core.errors import UserError


class _Chunked(PreTrainedModel):
    """Loading and initialisation shared by the bare model and the language model."""

    @staticmethod
    def _load_pretrained_model(model, state_dict, checkpoint_files, load_config, *args, **kwargs):
        """Load weights under their published names too, in addition to the given name mapping."""
        names = [*get_renamings(model.config.plan()), *(load_config.weight_mapping or ())]
        load_config = replace(load_config, weight_mapping=names)
        return PreTrainedModel._load_pretrained_model(
            model, state_dict, checkpoint_files, load_config, *args, **kwargs
        )

    @staticmethod
    def _finalize_model_loading(model, load_config, info):
        drop_renamings(model)
        folder = load_config.pretrained_model_name_or_path
        info = PreTrainedModel._finalize_model_loading(model, load_config, info)
        refuse_mismatched_weights(model, info, folder)
        return info

    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if weight_init := getattr(module, "weight_init", None):
            weight_init(module.weight)


class ChunkedModel(_Chunked):
    """A mixin that precedes a base model class."""

    layers: PlannedLayers

    def __init__(self, config: ChunkingKeys):
        super().__init__(config)
        plan = config.plan()
        used_layers = {*plan.start, *plan.end, *(n for chunk in plan.chunks for n in chunk)}
        if config.distillation or config.logits_distillation:  # the teacher runs all layers
            used_layers = set(range(len(self.layers)))
        # A pruned layer becomes an Identity, so that the other layers keep their names.
        layers = [
            layer if n in used_layers else nn.Identity() for n, layer in enumerate(self.layers)
        ]
        pruned = [str(n) for n in range(len(layers)) if n not in used_layers]
        if pruned:
            self._keys_to_ignore_on_load_unexpected = [rf"layers\.({'|'.join(pruned)})\."]
        self.layers = PlannedLayers(layers, self)
        layer_types = set(getattr(config, "layer_types", None) or ["full_attention"])
        if layer_types != {"full_attention"} and plan.start != tuple(range(len(layers))):
            raise UserError(
                f"layer_types has {', '.join(sorted(layer_types))}; expected full_attention in all layers,"
                " because the layers of a chunk share one attention call (set use_sliding_window to"
                " false)."
            )
        if plan.chunks:
            self.wrapped_chunk_layers = WrappedChunkLayers(config, plan)
        self.stages = self.layers.build_stages(plan)
        self.post_init()

    def _apply(self, fn, recurse=True):
        self.layers.release()
        return super()._apply(fn, recurse)


class _GenerationConfig(GenerationConfig):
    """A generation config without `temperature`, which is the distillation temperature in published configs."""

    @classmethod
    def from_model_config(cls, model_config) -> GenerationConfig:
        keys = model_config.to_dict()
        del keys["temperature"]
        return GenerationConfig.from_model_config(keys)


class ChunkedForCausalLM(_Chunked):
    """A mixin that precedes a base language model class."""

    generation_config_class = _GenerationConfig
    # Maximum number of logits of the student, and of the teacher, in memory while distilling.
    max_logits = 1 << 24

    def __init__(self, config: ChunkingKeys):
        PreTrainedModel.__init__(self, config)  # the base class would build the plain model
        self.model = self._model_class(config)
        self.vocab_size = config.vocab_size
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.post_init()

    def spread(self, devices: Sequence[str | int]) -> None:
        """Move chunk i to device i and everything shared to the first, for inference; undo with one device."""
        self.to(devices[0])
        model, layers = self.model, self.model.layers
        for chunk, numbers in enumerate(layers.plan.chunks):
            for number in numbers:
                device = devices[chunk % len(devices)]
                layers[number].to(device)
                if self.config.use_adapters:
                    model.wrapped_chunk_layers.adapters[str(number)].to(device)
        model.stages = layers.build_stages(layers.plan, len(devices))

    def forward(
        self,
        input_ids=None,
        attention_mask=None,
        position_ids=None,
        past_key_values=None,
        inputs_embeds=None,
        labels=None,
        **kwargs,
    ):
        inputs = {
            "input_ids": input_ids,
            "attention_mask": attention_mask,
            "position_ids": position_ids,
            "inputs_embeds": inputs_embeds,
        }
        is_distilled = self.config.distillation or self.config.logits_distillation
        if not (self.training and labels is not None and is_distilled):
            return super().forward(
                **inputs, past_key_values=past_key_values, labels=labels, **kwargs
            )
        num_items = kwargs.pop("num_items_in_batch", None)
        # The target of each position over all rows; the last position of a row has no target.
        targets = F.pad(labels[:, 1:], (0, 1), value=-100).flatten()
        num_items = (targets != -100).sum() if num_items is None else num_items
        loss = self._compute_distillation_loss(inputs, kwargs | {"use_cache": False}, targets)
        return CausalLMOutputWithPast(loss=loss / num_items)

    def _compute_distillation_loss(self, inputs, options, targets) -> torch.Tensor:
        """Return the sum of the language model's loss and the distillation losses.

        The logits of teacher and student are computed in blocks of positions and not returned.
        """
        config, layers = self.config, self.model.layers
        is_published = config.distillation_loss == "published"
        positions = (targets != -100).nonzero()[:, 0]
        weight = 1.0
        if is_published:
            # A published loss is a mean over all positions. Here losses are summed over labels and divided by the
            # labels of the step, so the mean is weighted by the number of labels.
            weight = len(positions) / max(1, len(targets))
            positions = torch.arange(len(targets), device=targets.device)
        with layers.record_states() as student_states:
            student_output = self._compute_output(inputs, options, positions)
        with (
            torch.no_grad(),
            nullcontext() if is_published else disable_adapters(self.model),
            layers.record_states(unchunked=True) as teacher_states,
        ):
            teacher_output = self._compute_output(inputs, options, positions)
        hidden_loss = 0.0
        if config.distillation:
            # The states after the chunks and after each layer of the shared end.
            count, scale = len(layers.plan.end) + 1, 1.0
            if is_published:
                # The published loss compares the last states after the final norm.
                student_states[-1], teacher_states[-1] = student_output[None], teacher_output[None]
                scale = count / (len(teacher_states) + 1)
            loss = compute_hidden_loss(teacher_states[-count:], student_states[-count:], positions)
            hidden_loss = weight * scale * loss

        def compute_losses(student_block, target_block, teacher_block):
            logits = self.lm_head(student_block)
            losses = [F.cross_entropy(logits.float(), target_block, reduction="sum")]
            if config.logits_distillation:
                with torch.no_grad():
                    teacher_logits = self.lm_head(teacher_block)
                loss = compute_logits_loss(teacher_logits, logits, config.temperature)
                losses.append(weight * loss)
            return losses

        rows_per_block = max(1, self.max_logits // config.vocab_size)
        trained = [parameter for parameter in self.lm_head.parameters() if parameter.requires_grad]
        others = [targets[positions], teacher_output]
        total = BlockwiseLoss.apply(
            compute_losses, student_output, others, rows_per_block, *trained
        )
        return total + hidden_loss

    def _compute_output(self, inputs, options, positions) -> torch.Tensor:
        """Return the last hidden states, after the final norm, at the given positions of all rows."""
        return self.model(**inputs, **options).last_hidden_state.flatten(0, 1)[positions]
