"""usage: lhotse_loader_check.py BIN_FOLDER [--seed N] [--count N]

Random configurations of NeMo's Lhotse loader, read by NeMo and by us: the same cuts, field by
field, in the same batches. Exit code 77, and why, where there is no NeMo or nothing is built.
"""

import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import warnings

warnings.simplefilter("ignore")
try:
    import numpy as np
    import lhotse_loader_cases
    import nemo_loader
    from lhotse import MonoCut
    from nemo_loader_data import make_data, write_lines
    from omegaconf import OmegaConf
    from nemo.utils import logging
except ImportError as error:
    print(f"NeMo cannot be imported: {error}")
    sys.exit(77)

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# Where audio is, where a line came from, what NeMo adds while it works, and rooms, whose seeds
# lhotse draws from ids that it draws.
LEFT_OUT = {"sources", "channel_ids", "shard_origin", "shar_epoch", "manifest_origin",
            "tar_origin", "dataloading_info", "tokens", "target_audio_unaligned", "rir_generator",
            "num_samples_written"}


def without_parts():
    """Parts of recordings in tars are other cuts here, on purpose: whole ones instead."""
    for path in pathlib.Path("tarred").glob("manifest_*.json"):
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        for row in rows:
            if "-sub1" in row["audio_filepath"]:
                row.update(audio_filepath=row["audio_filepath"].replace("-sub1", ""), duration=0.6)
                del row["offset"]
        write_lines(pathlib.Path("whole", path.name),
                    [row for row in rows if "-sub2" not in row["audio_filepath"]])


def fields_of(cut, with_audio):
    fields = cut.to_dict()
    if with_audio:
        has_target = isinstance(cut, MonoCut) and cut.has_custom("target_audio")
        fields["audio"] = [cut.load_audio()[0], cut.load_target_audio()[0] if has_target else None]
    return fields


def take_audio(passes):
    """The audio of each cut, out of its fields."""
    return [row.pop("audio", None) for batches in passes for rows in batches for row in rows]


def audio_difference(case, found, expected):
    """Where what we wrote is not what NeMo loads."""
    if "audio" not in case:
        return None
    wholes = [np.fromfile(f"{case['audio']}.{side}", np.float32) for side in ("source", "target")]
    rows = [row for batches in found for batch in batches for row in batch]
    for row, theirs in zip(rows, expected):
        for i, side in enumerate(("audio", "target_audio")):
            count = row["num_samples_written"][i]
            ours, wholes[i] = wholes[i][:count], wholes[i][count:]
            if theirs[i] is None:
                continue
            if count != len(theirs[i]):
                return f"{row['id']}: {side}: {count} samples, NeMo {len(theirs[i])}"
            worst = np.abs(ours - theirs[i]).max(initial=0)
            if worst > 1e-5:
                return f"{row['id']}: {side} differs by {worst}"
    return None


def nemo_passes(case):
    sampler = nemo_loader.sampler_of(case["config"],
                                     nemo_loader.letters if case["letters"] else None)
    passes = []
    for epoch in range(case["passes"]):
        sampler.set_epoch(epoch)
        found = []
        for batch in sampler:
            found.append([fields_of(cut, case.get("audio")) for cut in batch])
            if len(found) == case["count"]:
                break
        passes.append(found)
        if len(found) == case["count"]:
            break
    return passes


def normal(value):
    if isinstance(value, dict):
        items = {k: normal(v) for k, v in value.items() if k not in LEFT_OUT and v is not None}
        return {k: v for k, v in items.items() if v not in ({}, [])}
    if isinstance(value, (list, tuple)):
        return [normal(v) for v in value]
    if OmegaConf.is_config(value):
        return normal(OmegaConf.to_container(value))
    if isinstance(value, str):
        return UUID.sub("UUID", value.replace(os.getcwd(), "{root}"))
    if isinstance(value, float):
        return round(value, 8)
    return value


def difference(ours, theirs, path=""):
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in list(theirs) + [k for k in ours if k not in theirs]:
            if key not in ours or key not in theirs:
                return f"{path}.{key}: only {'NeMo' if key in theirs else 'ours'} has it"
            found = difference(ours[key], theirs[key], f"{path}.{key}")
            if found:
                return found
        return None
    if isinstance(ours, list) and isinstance(theirs, list):
        for i, (a, b) in enumerate(zip(ours, theirs)):
            found = difference(a, b, f"{path}[{i}]")
            if found:
                return found
        return None if len(ours) == len(theirs) else f"{path}: ours {len(ours)}, NeMo {len(theirs)}"
    is_drawn = isinstance(theirs, str) and isinstance(ours, str) and theirs.startswith("UUID")
    same = is_drawn or ours == theirs
    return None if same else f"{path}: ours {ours!r}, NeMo {theirs!r}"


def as_recordings(passes):
    """Cuts with padding behind them as the one recording that NeMo makes of both."""
    return [[[as_recording(row) for row in rows] for rows in batches] for batches in passes]


def as_recording(row):
    if row["type"] != "MixedCut":
        return row
    first, silence = (track["cut"] for track in row["tracks"])
    recording = dict(first["recording"])
    recording["num_samples"] = (round(first["duration"] * recording["sampling_rate"]) +
                                silence["num_samples"])
    recording["duration"] = recording["num_samples"] / recording["sampling_rate"]
    return normal({**first, "recording": recording, "duration": recording["duration"]})


def ours(program, folder, all_cases):
    wanted, found = pathlib.Path("cases.json"), pathlib.Path("found.json")
    wanted.write_text(json.dumps({"folder": str(folder), "cases": all_cases}))
    environment = {**os.environ, "S2S_LOADER_CASES": str(wanted), "S2S_LOADER_RESULTS": str(found)}
    run = subprocess.run([program, "--test-case=batches of the configurations*"], env=environment,
                         capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(f"{program.name} failed:\n{run.stdout}{run.stderr}")
    return json.loads(found.read_text())


def give_up(*_):
    raise TimeoutError("no batches")


def compared(case, found):
    """What differs, or None, and how many cuts were compared: none where NeMo fails."""
    # Where no cut of an endless source fits, NeMo searches for ever.
    signal.alarm(10 if "[data/empty]" in str(found) else 300)
    try:
        expected = nemo_passes(case)
    except (TimeoutError, AssertionError, AttributeError, TypeError, ValueError) as error:
        print(f"NeMo cannot: {type(error).__name__}: {str(error)[:200]}")
        return None, 0
    finally:
        signal.alarm(0)
    if "error" in found:
        is_empty = "[data/empty]" in found["error"] and not any(expected)
        return (None if is_empty else f"ours: {found['error']}"), 0
    audio = take_audio(expected)
    problem = audio_difference(case, found, audio)
    expected, found = normal(expected), normal(found[:len(expected)])
    if case.get("is_recording"):
        found = as_recordings(found)
    if case.get("has_parts"):  # of recordings here, recordings there
        for row in (row for one in (found, expected) for p in one for b in p for row in b):
            del row["recording"], row["start"]
    return difference(found, expected) or problem, len(audio)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin_folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=40)
    args = parser.parse_args()
    program = (args.bin_folder / "core_loader_test").resolve()
    if not program.exists():
        print(f"{program} is not built")
        sys.exit(77)
    logging.setLevel(logging.ERROR)
    signal.signal(signal.SIGALRM, give_up)
    num_cuts = differing = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        make_data()
        without_parts()
        all_cases = [*lhotse_loader_cases.listening_cases(),
                     *lhotse_loader_cases.cases(args.seed, args.count)]
        for case, found in zip(all_cases, ours(program, os.getcwd(), all_cases)):
            problem, count = compared(case, found)
            num_cuts += count
            if problem:
                differing += 1
                print(f"differs: {problem}\n  {json.dumps(case)}")
        os.chdir("/")
    print(f"{len(all_cases)} configurations, {num_cuts} cuts, {differing} configurations differ")
    sys.exit(1 if differing or not num_cuts else 0)


if __name__ == "__main__":
    main()
