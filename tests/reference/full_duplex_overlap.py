"""Golden vectors of Full-Duplex-Bench 1.5, made by its own scripts on generated dialogues.

    git clone https://github.com/DanielLin94144/Full-Duplex-Bench
    pip install praat-parselmouth==0.4.7
    python tests/reference/full_duplex_overlap.py --out tests/reference/data \
        --scripts Full-Duplex-Bench/v1_v1.5/evaluation

full_duplex_overlap.json.gz has dialogues and what get_timing.py and eval_general_before_after.py
say of them (commit d7336bd). Speech is found by silero-vad's rules in given probabilities, and the
audio is made by a rule that C++ repeats. UTMOSv2 is left out; pitch and intensity are Praat's.
"""

import argparse
import contextlib
import importlib
import io
import json
import random
import sys
import tempfile
import types
from pathlib import Path

import numpy as np
import torch

import reference_file as rf
import silero_vad_reference as silero

TIMINGS, VOICES, RATE = 120, 16, 16000


def turns(rng) -> list[list[int]]:
    """Spans of speech, in samples."""
    at, found = rng.randint(0, RATE), []
    for _ in range(rng.choice([0, 1, 2, 4, 7])):
        length = rng.randint(RATE // 10, 3 * RATE)
        found.append([at, at + length])
        at += length + int(RATE * rng.choice([0.2, 0.5, 0.55, 0.6, 0.7, 2])) + rng.choice([0, 0, 1])
    return found


def timing(module, rng) -> dict:
    user, agent = turns(rng), turns(rng)
    if rng.random() < 0.3 and user:  # ends that are equal
        agent = sorted(agent + [[max(0, user[-1][0] - 500), user[-1][1] + rng.choice([0, 4])]])
    module._vad_ts = lambda spans: [tuple(s) for s in spans]
    users = module.seg_sec(user, module.USER_MERGE_GAP)
    agents = module.seg_sec(agent, module.MODEL_MERGE_GAP)
    return {"user": user, "agent": agent, "stop": module.overlaps(users, agents),
            "response": module.response_gaps(users, agents)}


def sounds(rng) -> list[list]:
    """[samples, first and last Hz of a glide, amplitude] one after the other; silence has 0."""
    found = []
    for _ in range(rng.randint(1, 6)):
        first = rng.choice([90, 140, 220, 330, 450])
        found.append([rng.randint(900, 9000), first, round(first * rng.uniform(0.8, 1.2), 1),
                      rng.choice([0, 0.02, 0.1, 0.3])])
    return found


def audio(rule: list[list]) -> np.ndarray:
    parts = [np.zeros(0)]
    for samples, first, last, amplitude in rule:
        t = np.arange(samples) / RATE
        phase = 2 * np.pi * (first * t + (last - first) * t * t / (2 * samples / RATE))
        wave = np.sin(phase) + np.sin(2 * phase + 1) / 2 + np.sin(3 * phase) / 3
        parts.append(amplitude * wave)
    return np.concatenate(parts).astype(np.float32)


def runs(rng, samples: int) -> list[list]:
    """[chunks, probability] for at least as many samples."""
    found, chunks = [], 0
    while chunks * silero.CHUNK < samples:
        found.append([rng.randint(1, 15), rng.choice([0.05, 0.4, 0.9])])
        chunks += found[-1][0]
    return found


def voice(rng) -> dict:
    rule = sounds(rng)
    samples = sum(part[0] for part in rule)
    time, words = round(rng.uniform(0, 0.3), 2), []
    for _ in range(rng.choice([0, 1, 2, 4, 6])):
        length = 0.08 * rng.randint(1, 4)
        words.append([round(time, 2), round(time + length, 2)])
        time += length + rng.choice([0, 0.08, 0.24])
    middle = rng.uniform(0.2, 0.8) * samples / RATE
    end = round(rng.choice([0, 9, middle, middle, middle, middle]), 3)
    return {"sounds": rule, "words": words, "end_s": end,
            "probabilities": [runs(rng, samples), runs(rng, samples)]}


def before_after(module, cases: list[dict]) -> dict:
    """What evaluate.py computes, without UTMOSv2. Adds the numbers of each case to it."""
    from silero_vad import get_speech_timestamps

    now = {}

    def load(path):
        now["lists"] = [iter([p for count, p in run for _ in range(count)])
                        for run in cases[int(Path(path).parent.name)]["probabilities"]]
        return torch.tensor(audio(cases[int(Path(path).parent.name)]["sounds"]))[None], RATE

    class Model:
        def reset_states(self):
            pass

        def __call__(self, chunk, rate):
            return torch.tensor(next(now["list"]))

    def evaluated(waves, *arguments):
        now["list"] = now["lists"].pop(0)  # before, then after
        return evaluate(waves, *arguments)

    evaluate, module._eval_segment = module._eval_segment, evaluated
    module._load_silero = lambda: (Model(), (get_speech_timestamps, *[None] * 4))
    module.torchaudio = types.SimpleNamespace(load=load)
    config = {"trim_mode": "silero", "speaking_rate": True, "pitch": True, "intensity": True,
              "agg": {"mode": "trim", "trim_prop": 0.05}}  # of evaluate.py
    with tempfile.TemporaryDirectory() as name, contextlib.redirect_stdout(io.StringIO()):
        for i, case in enumerate(cases):
            folder = Path(name) / str(i)
            folder.mkdir()
            (folder / "output.wav").touch()
            (folder / "metadata.json").write_text(json.dumps({"timestamps": [0, case["end_s"]]}))
            chunks = [{"text": "word", "timestamp": times} for times in case["words"]]
            (folder / "output.json").write_text(json.dumps({"chunks": chunks}))
        summary = module.eval_general_all_split(config, name, aggregate=True)
        for i, case in enumerate(cases):
            found = json.loads((Path(name) / str(i) / "general_split.json").read_text())
            case.update({k: found[k] for k in ("split_t", "pre", "post")})
    return summary


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--scripts", required=True)
    arguments = parser.parse_args()
    sys.path.insert(0, arguments.scripts)
    sys.modules["utmosv2"] = types.ModuleType("utmosv2")
    torch.hub.load = lambda *_, **__: (None, None)
    rng = random.Random(15)
    timings = [timing(importlib.import_module("get_timing"), rng) for _ in range(TIMINGS)]
    voices = [voice(rng) for _ in range(VOICES)]
    summary = before_after(importlib.import_module("eval_general_before_after"), voices)
    print(summary)
    rf.write_json_gz(Path(arguments.out) / "full_duplex_overlap.json.gz", json.dumps(
        {"timings": timings, "voices": voices, "summary": summary}, separators=(",", ":")))


if __name__ == "__main__":
    main()
