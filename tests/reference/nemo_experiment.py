#!/usr/bin/env python3
"""Prints what Lightning's checkpoint names and early stopping give, and NeMo's keys.

usage: nemo_experiment.py     (a Python with NeMo: tests/reference/requirements-nemo.txt)
The results are in tests/core/checkpoint/checkpoint_name_test.cc,
tests/core/observers/early_stopping_test.cc and tests/cli/nemo_experiment_test.cc.
"""
import dataclasses

import torch
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint

from nemo.utils.exp_manager import ExpManagerConfig

METRICS = {"step": torch.tensor(120), "epoch": torch.tensor(3),
           "val_loss": torch.tensor(0.25, dtype=torch.float64)}
PATTERNS = ["{step}", "{epoch}-{step}", "{step:06d}-{val_loss:.3f}", "run--{val_loss:.4f}-{epoch}",
            "{val_loss}", "plain", "{absent:.1f}", "{step:08.1f}"]
for inserts in (True, False):
    for pattern in PATTERNS:
        callback = ModelCheckpoint(dirpath="x", filename=pattern, auto_insert_metric_name=inserts)
        name = callback._format_checkpoint_name(pattern, dict(METRICS),
                                                auto_insert_metric_name=inserts)
        print(inserts, repr(pattern), repr(name))

CASES = [dict(patience=2), dict(patience=2, min_delta=0.5), dict(mode="max", patience=1),
         dict(patience=9, stopping_threshold=2.2), dict(patience=9, divergence_threshold=4.5),
         dict(mode="max", patience=9, stopping_threshold=4.5)]
VALUES = [4.0, 3.0, 3.2, 2.9, 2.8, 3.5, 5.0, 2.0, 1.0]
for case in CASES:
    callback = EarlyStopping(monitor="m", **{"min_delta": 0.001, **case})
    ends = [i for i, v in enumerate(VALUES)
            if callback._evaluate_stopping_criteria(torch.tensor(v))[0]]
    print(case, ends[0] if ends else None)


def keys(block, prefix=""):
    for field in dataclasses.fields(block):
        factory = field.default_factory
        nested = factory() if factory is not dataclasses.MISSING else None
        if dataclasses.is_dataclass(nested):
            yield from keys(nested, prefix + field.name + ".")
        else:
            yield prefix + field.name


print("\n".join(keys(ExpManagerConfig)))
