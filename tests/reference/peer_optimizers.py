"""Ten updates of the optimizers of peers: torch.optim.SGD, torch.optim.Muon (with torch.optim.AdamW
for what is no hidden matrix), transformers' Adafactor and lion-pytorch's Lion.

    python tests/reference/peer_optimizers.py data/peer_optimizers.safetensors

Needs torch 2.11, transformers, lion-pytorch and safetensors. The file has the parameters
(`first.NAME`), the gradients (`gradient.STEP.NAME`; a parameter without one in a step has none
there), and for each case the parameters after the first and the last step and the states after the
last (`CASE.after_1.NAME`, `CASE.after_10.NAME`, `CASE.state.NAME.KEY`). The metadata has the cases:
what a configuration says, and the factor of the learning rate in each step.
"""

import json
import sys

import torch
from lion_pytorch import Lion
from safetensors.torch import save_file
from transformers.optimization import Adafactor

STEPS = 10
SIZES = {
    "block.wide.weight": (6, 9),
    "block.tall.weight": (9, 3),
    "block.conv.weight": (3, 2, 5),
    "block.norm.weight": (7,),
    "embed.weight": (5, 4),
    "late.bias": (4,),  # has gradients from the fourth step on
}
FACTORS = [1 - 0.05 * step for step in range(STEPS)]
CONSTANT = [1.0] * STEPS


def is_hidden(name):
    return len(SIZES[name]) == 2 and "embed" not in name


def muon(options, adamw):
    """Muon for hidden matrices, AdamW for the rest."""
    def make(parameters):
        hidden = [p for name, p in parameters.items() if is_hidden(name)]
        rest = [p for name, p in parameters.items() if not is_hidden(name)]
        return [torch.optim.Muon(hidden, **options), torch.optim.AdamW(rest, **adamw)]
    return make


def one(kind, **options):
    return lambda parameters: [kind(list(parameters.values()), **options)]


ADAMW = {"betas": (0.9, 0.95), "eps": 1e-8}
CASES = [
    ("sgd", {"lr": 0.1}, one(torch.optim.SGD, lr=0.1), FACTORS),
    ("sgd_momentum", {"name": "sgd", "lr": 0.05, "momentum": 0.9, "weight_decay": 0.1},
     one(torch.optim.SGD, lr=0.05, momentum=0.9, weight_decay=0.1), FACTORS),
    ("sgd_dampening", {"name": "sgd", "lr": 0.05, "momentum": 0.8, "dampening": 0.3},
     one(torch.optim.SGD, lr=0.05, momentum=0.8, dampening=0.3), FACTORS),
    ("sgd_nesterov", {"name": "sgd", "lr": 0.05, "momentum": 0.9, "nesterov": True,
                      "weight_decay": 0.01},
     one(torch.optim.SGD, lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01), FACTORS),
    ("lion", {"lr": 0.01}, one(Lion, lr=0.01), FACTORS),
    ("lion_decay", {"name": "lion", "lr": 0.01, "betas": [0.95, 0.98], "weight_decay": 0.2},
     one(Lion, lr=0.01, betas=(0.95, 0.98), weight_decay=0.2), FACTORS),
    ("lion_decoupled", {"name": "lion", "lr": 0.01, "weight_decay": 0.05,
                        "decoupled_weight_decay": True},
     one(Lion, lr=0.01, weight_decay=0.05, decoupled_weight_decay=True), FACTORS),
    ("adafactor", {}, one(Adafactor), CONSTANT),
    ("adafactor_warmup", {"name": "adafactor", "warmup_init": True, "weight_decay": 0.1},
     one(Adafactor, warmup_init=True, weight_decay=0.1), CONSTANT),
    ("adafactor_rate", {"name": "adafactor", "lr": 0.02, "relative_step": False,
                        "scale_parameter": False, "clip_threshold": 0.5},
     one(Adafactor, lr=0.02, relative_step=False, scale_parameter=False, clip_threshold=0.5),
     FACTORS),
    ("adafactor_moment", {"name": "adafactor", "lr": 0.02, "relative_step": False, "beta1": 0.9,
                          "decay_rate": -0.5, "eps": [1e-20, 1e-2], "weight_decay": 0.05},
     one(Adafactor, lr=0.02, relative_step=False, beta1=0.9, decay_rate=-0.5, eps=(1e-20, 1e-2),
         weight_decay=0.05), FACTORS),
    ("muon", {"lr": 0.02}, muon({"lr": 0.02}, {"lr": 0.02, "weight_decay": 0.1, **ADAMW}), FACTORS),
    ("muon_match", {"name": "muon", "lr": 0.01, "momentum": 0.9, "nesterov": False,
                    "weight_decay": 0, "adjust_lr_fn": "match_rms_adamw", "ns_steps": 3,
                    "adamw_lr": 0.003, "adamw_weight_decay": 0.2, "adamw_betas": [0.8, 0.9],
                    "adamw_eps": 1e-6},
     muon({"lr": 0.01, "momentum": 0.9, "nesterov": False, "weight_decay": 0,
           "adjust_lr_fn": "match_rms_adamw", "ns_steps": 3},
          {"lr": 0.003, "weight_decay": 0.2, "betas": (0.8, 0.9), "eps": 1e-6}), FACTORS),
]


def gradients():
    """As of some steps of training: their sizes differ by rows, columns and steps."""
    out = {}
    for step in range(STEPS):
        for name, sizes in SIZES.items():
            if name == "late.bias" and step < 3:
                continue
            scale = torch.rand(sizes[:1] + (1,) * (len(sizes) - 1)) * 2
            out[f"gradient.{step}.{name}"] = torch.randn(sizes) * scale * (1 + 0.3 * step)
    return out


def states_of(optimizers, parameters):
    out = {}
    for optimizer in optimizers:
        for name, parameter in parameters.items():
            for key, value in optimizer.state.get(parameter, {}).items():
                if key == "RMS" or value is None:  # computed anew before each use
                    continue
                out[f"{name}.{key}"] = torch.as_tensor(value, dtype=torch.float32).clone()
    return out


def run(first, given, make, factors):
    parameters = {name: torch.nn.Parameter(value.clone()) for name, value in first.items()}
    optimizers = make(parameters)
    rates = [[group["lr"] for group in o.param_groups] for o in optimizers]
    out = {}
    for step in range(STEPS):
        for name, parameter in parameters.items():
            parameter.grad = given.get(f"gradient.{step}.{name}")
            parameter.grad = None if parameter.grad is None else parameter.grad.clone()
        for optimizer, rate in zip(optimizers, rates):
            for group, lr in zip(optimizer.param_groups, rate):
                group["lr"] = None if lr is None else lr * factors[step]
            optimizer.step()
        if step in (0, STEPS - 1):
            for name, parameter in parameters.items():
                out[f"after_{step + 1}.{name}"] = parameter.detach().clone()
    for name, value in states_of(optimizers, parameters).items():
        out[f"state.{name}"] = value
    return out


def main():
    torch.manual_seed(40)
    first = {name: torch.randn(sizes) * 0.5 for name, sizes in SIZES.items()}
    given = gradients()
    tensors = {f"first.{name}": value for name, value in first.items()} | given
    cases = []
    for name, options, make, factors in CASES:
        cases.append({"case": name, "optimizer": {"name": name} | options, "factors": factors})
        for key, value in run(first, given, make, factors).items():
            tensors[f"{name}.{key}"] = value.contiguous()
    save_file(tensors, sys.argv[1], {"cases": json.dumps(cases)})


main()
