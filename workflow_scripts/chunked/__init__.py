"""Define chunked models, in which k chunks of m layers run in parallel; importing registers them with transformers.

    import workflow_scripts.chunked
    model = AutoModelForCausalLM.from_pretrained(folder)  # "model_type": "qwen2_chunking"

`configuration.ChunkingKeys` is their config. `modeling.ChunkedForCausalLM` is the model; `layer_order.PlannedLayers`
runs the layers of a plan as a loop or fused (`fused_layer`, `stacked`), and `wrapper` holds the added parameters.
`ChunkedForCausalLM.spread` distributes chunks over several devices. `python -m workflow_scripts.chunked <module>` runs
another program with chunked models registered.
"""

from transformers import AutoConfig, AutoModel, AutoModelForCausalLM

from workflow_scripts.chunked.architectures import ARCHITECTURES
from workflow_scripts.chunked.modeling import ChunkedForCausalLM

__all__ = ["ChunkedForCausalLM"]

for _config, _model, _causal_lm in ARCHITECTURES.values():
    AutoConfig.register(_config.model_type, _config, exist_ok=True)
    AutoModel.register(_config, _model, exist_ok=True)
    AutoModelForCausalLM.register(_config, _causal_lm, exist_ok=True)
