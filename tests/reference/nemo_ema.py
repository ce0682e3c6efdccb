#!/usr/bin/env python3
"""Prints what NeMo's moving average gives, for tests/core/train/weight_average_test.cc.

usage: nemo_ema.py     (a Python with NeMo: tests/reference/requirements-nemo.txt)
"""
import torch

from nemo.collections.common.callbacks.ema import EMAOptimizer

DECAY, RATE, STEPS = 0.9, 0.25, 5


def averages(every_n_steps):
    """The average after each step of SGD on a row of gradients that depends on the step."""
    parameter = torch.nn.Parameter(torch.tensor([1.0, -2.0, 0.3, 7.0, 0.1]))
    inner = torch.optim.SGD([parameter], lr=RATE, foreach=False)
    optimizer = EMAOptimizer(inner, torch.device("cpu"), DECAY, every_n_steps)
    for step in range(STEPS):
        parameter.grad = torch.tensor([0.7, 0.11, -1.3, 0.01, 3.0]) * (step + 1)
        optimizer.step()
        optimizer.join()
        yield optimizer.ema_params[0]


for every in (1, 2):
    for row in averages(every):
        print(every, "{" + ", ".join(f"{value:.9g}F" for value in row.tolist()) + "}")
