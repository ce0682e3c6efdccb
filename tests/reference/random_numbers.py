"""Draws of Python's and NumPy's generators, for tests/core/streams/random_test.cc.

    python3 tests/reference/random_numbers.py > tests/reference/data/random_numbers.json

Made with Python 3.11 and NumPy 2; the algorithms have been the same since 3.11 and 1.17.
"""

import json
import random

import numpy as np

SEEDS = [0, 1, -1, 42, 1234, 2**31 - 1, 2**32 - 1, 2**32, 2**63 - 1, -(2**40) - 7]
WEIGHTS = [0.5, 0.0, 2.25, 1e-3, 7, 0.1]


def python_draws(seed):
    rng = random.Random(seed)
    items, large = list(range(50)), list(range(700))
    rng.shuffle(items)
    return {
        "seed": seed,
        "shuffled": items,
        "random": [rng.random().hex() for _ in range(5)],
        "bits": [str(rng.getrandbits(k)) for k in (0, 1, 7, 31, 32, 33, 48, 63, 64)],
        "randrange": [rng.randrange(-5, 1000, 7) for _ in range(8)],
        "randrange_down": [rng.randrange(90, -10, -9) for _ in range(8)],
        "randrange_large": [rng.randrange(2**40) for _ in range(5)],
        "randint": [rng.randint(3, 12) for _ in range(20)],
        "uniform": [rng.uniform(-2.5, 0.75).hex() for _ in range(5)],
        "choice": [rng.choice(large) for _ in range(10)],
        "choices": rng.choices(large, k=10),
        "weighted": rng.choices(range(6), weights=WEIGHTS, k=40),
        "after": [rng.getrandbits(32) for _ in range(700)][-5:],
    }


def numpy_draws(seed):
    rng = np.random.default_rng(seed)
    p = [0.1, 0.4, 0.05, 0.25, 0.2]
    return {
        "seed": seed,
        "random": [rng.random().hex() for _ in range(5)],
        "uniform": [float(x).hex() for x in rng.uniform(0.1, 1.2, size=4)],
        "choice": [int(rng.choice(5, size=1, replace=False, p=p)[0]) for _ in range(30)],
    }


def main():
    print(json.dumps({
        "python": [python_draws(s) for s in SEEDS],
        "numpy": [numpy_draws(s) for s in SEEDS if s >= 0],
    }, separators=(",", ":")))


if __name__ == "__main__":
    main()
