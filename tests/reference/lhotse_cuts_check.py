"""usage: lhotse_cuts_check.py BIN_FOLDER [NUMBER] [SEED]

lhotse and ours on the same random cuts of every kind: each reads what the other wrote, operations
give the same JSON field by field, and durations are rounded alike. Exit code 77 without lhotse.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import warnings

try:
    import numpy
    from lhotse import CutSet, load_manifest
    from lhotse.utils import (compute_num_frames, compute_num_frames_from_samples,
                              compute_num_samples, perturb_num_samples)
    import lhotse_cuts
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)


def difference(ours, theirs, path=""):
    """The first place where two JSON values differ, or None."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted(set(ours) | set(theirs)):
            if key not in ours or key not in theirs:
                return f"{path}.{key}: only {'lhotse' if key in theirs else 'ours'} has it"
            found = difference(ours[key], theirs[key], f"{path}.{key}")
            if found:
                return found
        return None
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for i, (a, b) in enumerate(zip(ours, theirs)):
            found = difference(a, b, f"{path}[{i}]")
            if found:
                return found
        return None
    same = ours == theirs and isinstance(ours, bool) == isinstance(theirs, bool)
    return None if same else f"{path}: ours {ours!r}, lhotse {theirs!r}"


def check_operations(tool, folder, number, seed):
    cases = lhotse_cuts.make_cases(number, seed)
    with open(folder / "cases.jsonl", "w", encoding="utf-8") as file:
        for case in cases:
            file.write(json.dumps({k: case[k] for k in ("op", "cuts", "args")}) + "\n")
    subprocess.run([tool, "cases", folder / "cases.jsonl", folder / "ours.jsonl"], check=True)
    wrong = compared = 0
    for case, line in zip(cases, open(folder / "ours.jsonl", encoding="utf-8"), strict=True):
        ours, theirs = lhotse_cuts.normal(json.loads(line)), case["expected"]
        if "broken" in theirs:
            continue
        compared += 1
        if "error" in theirs or "error" in ours:
            found = None if "error" in theirs and "error" in ours else f"{ours} | {theirs}"[:600]
        else:
            found = difference(ours, theirs)
        if found:
            wrong += 1
            if wrong <= 10:
                kinds = [c["type"] for c in case["cuts"]]
                print(f"{case['op']} {case['args']} of {kinds}: {found}")
    print(f"operations: {compared} compared, {wrong} differ")
    return wrong


def check_manifests(tool, folder, number, seed):
    maker = lhotse_cuts.Maker(seed)
    # A set of cuts has no padding cut by itself, and lhotse's sniffing knows none.
    made = [c for c in (maker.cut() for _ in range(number)) if type(c).__name__ != "PaddingCut"]
    cuts = CutSet.from_cuts(made)
    cuts.to_file(folder / "lhotse.jsonl.gz")
    wrong = 0
    name = "ours.jsonl"
    subprocess.run([tool, "rewrite", folder / "lhotse.jsonl.gz", folder / name], check=True)
    again = list(load_manifest(folder / name))
    before = list(load_manifest(folder / "lhotse.jsonl.gz"))
    for a, b in zip(before, again, strict=True):
        x, y = (lhotse_cuts.normal(json.loads(json.dumps(c.to_dict()))) for c in (a, b))
        found = difference(y, x) or (None if a == b or x == y else "not equal")
        if found:
            wrong += 1
            print(f"{name}: {a.id}: {found}")
    print(f"manifests: {len(made)} cuts written and read, {wrong} differ")
    return wrong


def check_rounding(tool, folder, number, seed):
    rng = numpy.random.default_rng(seed)
    rates = numpy.array([8000, 16000, 22050, 24000, 44100, 48000])
    rate = rng.choice(rates, number)
    places = rng.integers(0, 10, number)
    seconds = rng.uniform(0, 40, number)
    seconds = numpy.where(places < 9, numpy.round(seconds * 10.0**places) / 10.0**places, seconds)
    half = (rng.integers(0, 2000000, number) + 0.5) / rate
    steps = rng.integers(1, 60, number) * rng.choice([0.1, 0.2, 0.01, 0.08], number)
    pick = rng.integers(0, 4, number)
    seconds = numpy.select([pick == 0, pick == 1], [half, steps], seconds)
    seconds *= numpy.where(rng.random(number) < 0.05, -1, 1)
    frame = rng.choice([0.08, 0.01, 0.0125, 0.04, 0.02], number)
    factor = rng.choice([0.9, 1.1, 0.95, 1.05, 2.0, 0.5, 3.0], number)
    numpy.stack([seconds, rate, frame, factor], 1).tofile(folder / "in.bin")
    subprocess.run([tool, "rounding", folder / "in.bin", folder / "out.bin"], check=True)
    ours = numpy.fromfile(folder / "out.bin", dtype=numpy.int64).reshape(-1, 4)
    wrong = 0
    for s, r, f, x, got in zip(seconds.tolist(), rate.tolist(), frame.tolist(), factor.tolist(),
                               ours.tolist()):
        n = compute_num_samples(s, r)
        want = [n, compute_num_frames(s, f, r), compute_num_frames_from_samples(n, f, r),
                perturb_num_samples(n, x)]
        if got != want:
            wrong += 1
            if wrong <= 10:
                print(f"{s!r} s, {r} Hz, frame {f}, factor {x}: ours {got}, lhotse {want}")
    print(f"rounding: {number} durations, {wrong} differ")
    return wrong


def main():
    warnings.simplefilter("ignore")
    tool = pathlib.Path(sys.argv[1]) / "lhotse_cuts_ours"
    number = int(sys.argv[2]) if len(sys.argv) > 2 else 800
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        wrong = check_operations(tool, folder, number, seed)
        wrong += check_manifests(tool, folder, number // 4, seed)
        wrong += check_rounding(tool, folder, 100 * number, seed)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
