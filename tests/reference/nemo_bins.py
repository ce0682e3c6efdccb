"""Bounds of buckets as lhotse and NeMo estimate them: for tests/core/samplers/bins_test.cc, and
what NeMo's scripts print of the data of nemo_loader.py, for tests/cli/data_estimate_bins_test.cc.

    python3 tests/reference/nemo_bins.py NEMO/scripts/speech_recognition \
        > tests/reference/data/nemo_bins.json
    python3 tests/reference/nemo_bins.py NEMO/scripts/speech_recognition tests/reference/data \
        > tests/reference/data/nemo_bins_scripts.json

The folder is that of a checkout of NeMo: its package does not have the scripts.
"""

import contextlib
import dataclasses
import io
import json
import math
import os
import sys

sys.path.insert(0, sys.argv[1])
import estimate_duration_bins as nemo_1d  # noqa: E402
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


@dataclasses.dataclass
class Repeatable(nemo.LhotseDataLoadingConfig):
    """Left to themselves the scripts shuffle and mix in another order each time."""

    shard_seed: int = 5


SOURCES = ["plain.json", "shar/first", "nested.yaml", "weighted.yaml",
           "[[parts/manifest_0.json],[parts/manifest_1.json]]",
           "manifest_filepath=parts/manifest_{0..3}.json", "shar_path=shar/second"]


def commands():
    model = ["-t", "../sentencepiece_bpe.model"]
    for source in SOURCES:
        yield nemo_1d, [source, "-b", "3", "-n", "7"]
        yield nemo, [source, "-b", "2", "-n", "11", *model]
    for number in ("-1", "30"):
        yield nemo_1d, ["weighted.yaml", "-b", "4", "-n", number]
        yield nemo, ["weighted.yaml", "-b", "3", "-s", "3", "-n", number, *model]
    yield nemo_1d, ["weighted.yaml", "-n", "9", "-l", "0.2", "-u", "0.6", "-b", "2"]
    yield nemo, ["weighted.yaml", "-n", "30", "-u", "0.6", "-b", "2", "--token_outlier_threshold",
                 "1.5", *model]


def printed(script, arguments):
    script.LhotseDataLoadingConfig = Repeatable
    sys.argv = ["script", *arguments]
    with contextlib.redirect_stdout(io.StringIO()) as output:
        script.main()
    return [line.strip() for line in output.getvalue().splitlines()]


def print_scripts(folder):
    os.chdir(f"{folder}/nemo_loader")
    rows = []
    for script, arguments in commands():
        lines = printed(script, arguments)
        options = dict(line.split("=", 1) for line in lines if "=" in line and " " not in line)
        used = [line.split()[1] for line in lines if line.startswith("Used ")]
        rows.append(json.dumps({"is_2d": script is nemo, "arguments": arguments,
                                "used": int(used[0]) if used else None, "options": options}))
    print("[" + ",\n".join(rows) + "]")


def main():
    if len(sys.argv) > 2:
        return print_scripts(sys.argv[2])
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
