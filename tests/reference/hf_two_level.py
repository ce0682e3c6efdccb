"""Shared by hf_moshi.py and hf_csm.py: training steps, checks of the noise, the file."""

import copy
import json
import math
import tempfile
from pathlib import Path

import torch

import reference_file as rf

RTOL, ATOL = 1e-4, 2e-5
ROUNDING, NEAR_TIE = 2.0**-24, 2.0**-14
OPTIMIZER = {
    "_target_": "torch.optim.AdamW",
    "lr": 2e-3,
    "betas": [0.9, 0.98],
    "weight_decay": 0.01,
    "eps": 1e-3,  # the query of a depth decoder's first position has no gradient but noise
}


def load_config(config_class, config_dict):
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "config.json").write_text(json.dumps(config_dict))
        return config_class.from_pretrained(name)


def scale_books(parameter, inputs_dim, gain=1.0) -> None:
    """Of a weight with one matrix per book, which rf.randomize takes for a convolution."""
    rf.rescale(parameter, gain * math.sqrt(parameter[0].numel() / parameter.size(inputs_dim)))


def three_steps(parameters, losses) -> dict:
    """Outputs and gradients of the first step, losses of all three, weights after the third;
    changes the weights."""
    options = {k: v for k, v in OPTIMIZER.items() if k != "_target_"}
    optimizer = torch.optim.AdamW(parameters.values(), **options)
    tensors, seen = {}, []
    for step in range(3):
        optimizer.zero_grad()
        output = losses()
        output["loss"].backward()
        seen.append(output["loss"].detach().clone())
        if step == 0:
            tensors.update({f"output/{k}": v.detach().clone() for k, v in output.items()})
            tensors.update({f"grad/{n}": p.grad.clone() for n, p in parameters.items()})
        optimizer.step()
    tensors["output/losses"] = torch.stack(seen)
    tensors.update({f"after/3/{n}": p.detach().clone() for n, p in parameters.items()})
    return tensors


def write_case(path, component, options, model, inputs, trained, run) -> None:
    """run(model) -> tensors, and changes the model; trained(model) -> parameters by name."""
    weights = {n: p.detach().clone() for n, p in trained(model).items()}
    twins = []
    for size in (ROUNDING, NEAR_TIE):
        twin = copy.deepcopy(model)
        rf.nudge(twin, 7, size)
        twins.append(run(twin))
    tensors = run(model)
    ratios = rf.noise_ratio(tensors, twins[0], RTOL, ATOL)
    noisiest = max(ratios, key=ratios.get)
    for key, tensor in tensors.items():
        is_equal = tensor.is_floating_point() or torch.equal(tensor, twins[1][key])
        assert is_equal, f"{path.name}: {key} is decided by a near tie"
    smallest = min(v.abs().max().item() for k, v in tensors.items() if k.startswith("grad/"))
    loss = tensors["output/loss"].item()
    tensors.update({f"weights/{k}": v for k, v in weights.items()})
    tensors.update({f"input/{k}": v for k, v in inputs.items()})
    text = json.dumps({**options, "model": {"optimizer": OPTIMIZER}}, indent=1)
    size = rf.write_small(path, "model", component, text, tensors, RTOL, ATOL)
    facts = f"{path.name}: noise {ratios[noisiest]} in {noisiest}, smallest gradient {smallest}"
    assert ratios[noisiest] < 0.3 and smallest > 1e-5, facts
    rf.report(path, size, noise=ratios[noisiest], gradient=smallest, loss=loss)
