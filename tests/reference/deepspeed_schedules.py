"""The learning rates of DeepSpeed's schedules, as JSON.

    python tests/reference/deepspeed_schedules.py LR_SCHEDULES.PY data/deepspeed_schedules.json

The first argument is deepspeed/runtime/lr_schedules.py of DeepSpeed; only that file is run, because
the package needs a compiler. A record has the schedule's type, its parameters, the optimizer's rate
and the rate of each of 40 optimizer steps, as DeepSpeed's engine sets them.
"""

import json
import logging
import sys
import types

import torch

BASE = 3e-3
CASES = [
    ("WarmupLR", {"warmup_min_lr": 1e-4, "warmup_max_lr": 2e-3, "warmup_num_steps": 10}),
    ("WarmupLR", {"warmup_num_steps": 10, "warmup_type": "linear"}),
    ("WarmupLR", {"warmup_num_steps": 1}),
    ("WarmupDecayLR", {"warmup_max_lr": 2e-3, "warmup_num_steps": 8, "total_num_steps": 30}),
    ("WarmupDecayLR", {"warmup_min_lr": 1e-5, "warmup_max_lr": 2e-3, "warmup_num_steps": 8,
                       "total_num_steps": 50, "warmup_type": "linear"}),
    ("WarmupCosineLR", {"warmup_num_steps": 8, "total_num_steps": 30}),
    ("WarmupCosineLR", {"warmup_num_steps": 8, "total_num_steps": 50, "warmup_type": "linear",
                        "warmup_min_ratio": 0.1, "cos_min_ratio": 0.05}),
    ("OneCycle", {"cycle_min_lr": 1e-4, "cycle_max_lr": 1e-2, "cycle_first_step_size": 10,
                  "cycle_momentum": False}),
    ("OneCycle", {"cycle_min_lr": 1e-4, "cycle_max_lr": 1e-2, "cycle_first_step_size": 9,
                  "cycle_second_step_size": 14, "cycle_first_stair_count": 3,
                  "cycle_second_stair_count": 4, "decay_step_size": 5, "decay_lr_rate": 0.5,
                  "cycle_momentum": False}),
    ("LRRangeTest", {"lr_range_test_min_lr": 1e-4, "lr_range_test_step_size": 7,
                     "lr_range_test_step_rate": 2.0}),
    ("LRRangeTest", {"lr_range_test_min_lr": 1e-4, "lr_range_test_step_size": 7,
                     "lr_range_test_staircase": True}),
]


def stand_ins():
    """What the file imports of the package."""
    utils = types.ModuleType("deepspeed.utils")
    utils.logger = logging.getLogger("deepspeed")
    utils.logger.setLevel(logging.ERROR)
    package = types.ModuleType("deepspeed")
    package.utils = utils
    sys.modules.update({"deepspeed": package, "deepspeed.utils": utils})


def rates(schedules, kind, parameters):
    optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))], lr=BASE)
    schedule = getattr(schedules, kind)(optimizer, **parameters)
    out = []
    for _ in range(40):
        out.append(optimizer.param_groups[0]["lr"])
        schedule.step()
    return out


def main():
    stand_ins()
    schedules = types.ModuleType("lr_schedules")
    with open(sys.argv[1], encoding="utf-8") as file:
        exec(compile(file.read(), "lr_schedules.py", "exec"), schedules.__dict__)
    records = [{"type": kind, "params": parameters, "base": BASE,
                "rates": rates(schedules, kind, parameters)} for kind, parameters in CASES]
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump(records, file, indent=1)
        file.write("\n")


main()
