"""Bounds of buckets as lhotse and NeMo estimate them, for tests/core/sampling/bins_test.cc.

    python3 tests/reference/nemo_bins.py NEMO/scripts/speech_recognition \
        > tests/reference/data/nemo_bins.json

The folder is that of a checkout of NeMo: its package does not have the scripts.
"""

import json
import math
import sys

sys.path.insert(0, sys.argv[1])
import estimate_duration_bins_2d as nemo  # noqa: E402
import lhotse_pipelines as lhotse  # noqa: E402
from lhotse.dataset.sampling.dynamic_bucketing import estimate_duration_buckets  # noqa: E402

SETS = [(1000, 1, "uniform"), (5000, 2, "skewed"), (700, 3, "tail"), (300, 4, "short"),
        (129, 5, "uniform"), (400, 6, "equal")]


def row(count, seed, shape, num_buckets, sub_buckets, max_duration, threshold):
    spec = {"op": "cuts", "name": "a", "count": count, "seed": seed, "shape": shape}
    cuts = lhotse.Generated(spec)
    found = {"cuts": spec, "num_buckets": num_buckets,
             "bins": estimate_duration_buckets(cuts, num_buckets=num_buckets)}
    bins, ratios = nemo.estimate_duration_buckets(
        cuts, num_buckets=num_buckets, num_subbuckets=sub_buckets, max_tps=None,
        max_duration=max_duration, token_outlier_threshold=threshold, quiet=True)
    return {**found, "sub_buckets": sub_buckets, "threshold": threshold,
            **({} if math.isinf(max_duration) else {"max_duration": max_duration}),
            "bins_2d": [f"{length:.3f},{tokens:d}" for length, tokens in bins],
            "ratios": [f"{ratio:.2f}" for ratio in ratios]}


def main():
    rows = []
    for i, (count, seed, shape) in enumerate(SETS):
        for num_buckets, sub_buckets in ((2, 1), (5, 2), (30, 3)):
            max_duration = (math.inf, 120.5)[i % 2]
            try:
                rows.append(row(count, seed, shape, num_buckets, sub_buckets, max_duration,
                                (4.0, 1.5)[i % 2]))
            except ValueError:  # a bucket of one cut, whose deviation is 0
                pass
    print(json.dumps(rows, separators=(",", ":")))


if __name__ == "__main__":
    main()
