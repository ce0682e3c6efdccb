"""usage: lhotse_order_check.py BIN_FOLDER [--seed N] [--count N]

Random streams and samplers of generated cuts, in lhotse and in core_samplers_test: the same ids in
the same batches. Exit code 77, and why, where there is no lhotse or no core_samplers_test.
"""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import warnings

warnings.simplefilter("ignore")
try:
    import lhotse_pipelines as lhotse
except ImportError as error:
    print(f"lhotse cannot be imported: {error}")
    sys.exit(77)

SHAPES = ["uniform", "skewed", "tail", "equal", "short"]


def cuts(rng, largest=300):
    return {"op": "cuts", "name": f"n{rng.randrange(10**6)}-", "count": rng.randint(1, largest),
            "seed": rng.randrange(1000), "shape": rng.choice(SHAPES)}


def stream(rng, depth, is_cut_off=False):
    """A random stream that ends. Passes that are `is_cut_off` (a sampler may end before its stream
    does) draw alike: lhotse counts passes by what was read."""
    if depth == 0:
        return cuts(rng)
    seed, kind = rng.randrange(1000), rng.randrange(4 if is_cut_off else 5)
    several = [stream(rng, depth - 1, is_cut_off) for _ in range(rng.randint(2, 4))]
    weights = {"weights": [rng.randint(1, 9) / 4 for _ in several]} if rng.random() < 0.5 else {}
    one = several[0]
    return [{"op": "mux", "of": several, "seed": seed, **weights},
            {"op": "chain", "of": several},
            {"op": "filter", "of": one, "min": rng.randint(1, 6)},
            {"op": "flat_map", "of": one},
            {"op": "shuffle", "of": one, "buffer": rng.randint(1, 400), "seed": seed}][kind]


def endless(rng):
    """A mix of sources that are repeated, as NeMo mixes them; it is cut off."""
    several = [{"op": "repeat", "of": stream(rng, rng.randint(0, 2)),
                "preserve_id": rng.random() < 0.5} for _ in range(rng.randint(2, 3))]
    return {"op": "mux", "of": several, "seed": rng.randrange(1000)}


def limits(rng):
    found = {}
    kind = rng.randrange(3)
    if kind != 1:
        found["max_duration"] = rng.randint(10, 300)
    if kind != 0:
        found["max_cuts"] = rng.randint(1, 20)
    return found


def plain_sampler(rng):
    spec = {"of": stream(rng, rng.randint(0, 3), True), "shuffle": rng.random() < 0.6,
            "drop_last": rng.random() < 0.4, "seed": rng.randrange(1000),
            "buffer": rng.choice([1, 7, 100, 1000]), **limits(rng)}
    if rng.random() < 0.3:
        spec["pairs"] = True
    if rng.random() < 0.3 and "max_duration" in spec:
        spec["quadratic"] = 20
    if rng.random() < 0.3:
        return {**spec, "sampler": "dynamic_cut"}
    bins = sorted(rng.randint(1, 80) / 4 for _ in range(rng.randint(1, 8)))
    return {**spec, "sampler": "dynamic_bucketing", "bins": bins}


def sampler(rng):
    kind = rng.randrange(8)
    if kind > 1:
        return plain_sampler(rng)
    several = [plain_sampler(rng) for _ in range(rng.randint(1, 3))]
    while "pairs" in str(several):  # lhotse joins no pairs
        several = [plain_sampler(rng) for _ in several]
    if kind == 0:
        return {"sampler": "zip", "of": several}
    weights = [rng.randint(1, 9) / 4 for _ in several]
    return {"sampler": "round_robin", "of": several,
            "randomize": rng.choice([False, True, weights]), "seed": rng.randrange(1000)}


def cases(seed, count):
    rng = random.Random(seed)
    for _ in range(count):
        if rng.random() < 0.25:
            yield {"stream": stream(rng, rng.randint(1, 4)), "epochs": 3, "limit": 10**9}
        elif rng.random() < 0.1:
            yield {"stream": endless(rng), "epochs": 1, "limit": 2000}
        else:
            spec = sampler(rng)
            # lhotse's pairs cannot be spread over ranks that are left without a batch.
            world = 1 if "pairs" in str(spec) else rng.randint(1, 4)
            yield {"sampler": spec, "world_size": world, "epochs": 2}


def ids_of(case):
    if "stream" in case:
        return lhotse.ids_of_stream(case["stream"], case["epochs"], case["limit"])
    return lhotse.ids_of_sampler(case)


def ours(program, all_cases):
    with tempfile.TemporaryDirectory() as folder:
        pipelines, ids = pathlib.Path(folder, "cases.json"), pathlib.Path(folder, "ids.json")
        pipelines.write_text(json.dumps(all_cases))
        environment = {**os.environ, "S2S_PIPELINES": str(pipelines), "S2S_PIPELINES_IDS": str(ids)}
        run = subprocess.run([program, "--test-case=ids of the pipelines*"], env=environment,
                             capture_output=True, text=True, check=False)
        if run.returncode != 0:
            sys.exit(f"core_samplers_test failed:\n{run.stdout}{run.stderr}")
        return json.loads(ids.read_text())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin_folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=60)
    args = parser.parse_args()
    program = args.bin_folder / "core_samplers_test"
    if not program.exists():
        print(f"{program} is not built")
        sys.exit(77)
    all_cases = list(cases(args.seed, args.count))
    num_ids, differing = 0, 0
    for case, found in zip(all_cases, ours(program, all_cases)):
        expected = ids_of(case)
        num_ids += str(expected).count("'") // 2
        if found != expected:
            differing += 1
            print(f"differs: {json.dumps(case)}\n  lhotse {str(expected)[:300]}\n"
                  f"  ours   {str(found)[:300]}")
    print(f"{len(all_cases)} pipelines, {num_ids} ids, {differing} pipelines differ")
    sys.exit(1 if differing or num_ids == 0 else 0)


if __name__ == "__main__":
    main()
