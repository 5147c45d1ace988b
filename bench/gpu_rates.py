"""What planning computes with: how long a layer takes to be launched, and how fast weights are read."""

import torch

from bench.gpu_setting import Setting, Table


@torch.inference_mode()
def run(setting: Setting) -> list[Table]:
    table = Table(
        "Rates",
        "One large product; the linear layers of the largest shape on one token, which is as long as reading their"
        " weights takes; and a pass of the smallest shape over one token, for each of its layers, which is as long as"
        " their kernels take to be launched.",
        ("what", "value"),
    )
    table.rows.append(("products, TFLOP/s", setting.matmul_tflops()))
    smallest, largest = setting.shapes[0], setting.shapes[-1]
    model = setting.model(smallest)
    token = torch.ones(1, 1, dtype=torch.long, device=setting.device)
    seconds = setting.median(lambda: model(token, use_cache=False), rounds=20)
    table.rates["layer_us"] = 1e6 * seconds / model.config.num_hidden_layers
    del model
    model = setting.model(largest)
    weights = [p for name, p in model.named_parameters() if p.dim() == 2 and "embed" not in name]
    tokens = [torch.ones(1, p.shape[1], device=p.device, dtype=p.dtype) for p in weights]

    def read() -> None:
        for one, weight in zip(tokens, weights, strict=True):
            torch.nn.functional.linear(one, weight)

    held = sum(weight.nbytes for weight in weights)
    table.rates["weights_gb_s"] = held / setting.median(read, rounds=20) / 1e9
    table.rows += [(f"{name}", value) for name, value in table.rates.items()]
    return [table]
