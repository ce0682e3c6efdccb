"""Golden vectors of Full-Duplex-Bench 1.0, made by its own scripts on generated transcripts.

    git clone https://github.com/DanielLin94144/Full-Duplex-Bench
    python tests/reference/full_duplex_bench.py --out tests/reference/data \
        --scripts Full-Duplex-Bench/v1_v1.5/evaluation

full_duplex_bench.json has the transcripts and what the scripts say of them (commit d7336bd). Speech
is found by silero-vad's rules in random probabilities; there is no audio. The judge of answers is
replaced by one that gives each the same mark, because its mark is left out.
"""

import argparse
import contextlib
import importlib
import io
import json
import os
import random
import re
import sys
import tempfile
import types
from pathlib import Path

import numpy
import torch

import reference_file as rf
import silero_vad_reference as silero

EXAMPLES, RATE = 60, 16000
WORDS = "yes right okay I think that we could go there tomorrow and see what happens".split()


def transcript(rng) -> list[dict]:
    """Words with times in steps of 80 ms, as of a recognizer."""
    time, chunks = round(rng.uniform(0, 6), 2), []
    for _ in range(rng.choice([0, 1, 2, 3, 4, 5, 12])):
        length = 0.08 * rng.randint(1, 5)
        chunks.append({"text": rng.choice(WORDS), "timestamp": [time, time + length]})
        time += length + rng.choice([0, 0, 0.08, 0.64])
    return chunks


def listening(rng) -> list[float]:
    """Probabilities of short speech, and now and then of a long one."""
    found = []
    for _ in range(rng.randint(1, 5)):
        found += [round(0.02 + 0.1 * rng.random(), 3) for _ in range(rng.randint(10, 70))]
        found += [round(0.95 - 0.2 * rng.random(), 3)
                  for _ in range(rng.choice([8, 12, 20, 25, 28, 33, 40, 60, 130]))]
    return found


def examples(rng) -> list[dict]:
    found = []
    for i in range(EXAMPLES):
        chunks = transcript(rng)
        end = round(rng.uniform(0, 7), 3)
        probabilities = listening(rng)
        found.append({"id": str(i), "words": [[c["text"], *c["timestamp"]] for c in chunks],
                      "user_end_s": end, "probabilities": probabilities,
                      "samples": len(probabilities) * silero.CHUNK - rng.randint(0, 511),
                      "expected": [round(rng.random() ** 4, 6) for _ in range(rng.randint(2, 60))]})
    return found


def chunks_of(example, after: float = 0) -> list[dict]:
    """The words as output.json has them; those after a time as if the audio began there."""
    return [{"text": text, "timestamp": [max(begin, after), end]}
            for text, begin, end in example["words"] if end > after]


def write_folders(root: Path, cases: list[dict]) -> None:
    for example in cases:
        end = example["user_end_s"]
        for task, after, name, times in (("pause", 0, "pause.json", [0, 1]),
                                         ("turn", 0, "turn_taking.json", [end, end + 1]),
                                         ("interruption", end, "interrupt.json", [0, end]),
                                         ("backchannel", 0, "unused.json", [0, 1])):
            folder = root / task / example["id"]
            folder.mkdir(parents=True)
            chunks = chunks_of(example, after)
            (folder / "output.json").write_text(json.dumps({"text": "", "chunks": chunks}))
            (folder / name).write_text(json.dumps(
                [{"timestamp": times, "interrupt": "", "context": ""}]))
            (folder / "output.wav").touch()


class Judge:
    """Stands in for the client of the model that marks answers."""

    def __init__(self):
        self.chat = self.completions = self

    def create(self, **_):
        text = "Analysis: none.\nI would rate the AI's response as 3"
        message = types.SimpleNamespace(message=types.SimpleNamespace(content=text))
        return types.SimpleNamespace(choices=[message])


def printed(function, *arguments) -> dict:
    """The numbers that a script prints under [Result]."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        function(*arguments)
    return {name: float(value) for name, value in
            re.findall(r"(Average [a-z ]+): +(\S+)", out.getvalue())}


def backchannel_lists(module, root: Path, cases: list[dict]) -> dict:
    """What the script averages: [JSD], [TOR], [frequency], in the order of its folders."""
    by_id, lists, order = {e["id"]: e for e in cases}, [], []

    def load(path):
        example = by_id[Path(path).parent.name]
        order.append(example["id"])
        model.now = silero.FromList(example["probabilities"])
        return torch.zeros(example["samples"]), RATE

    class Model:
        def reset_states(self):
            pass

        def __call__(self, chunk, rate):
            return self.now(chunk, rate)

    model = Model()
    module.load_silero_vad = lambda: model
    module.torchaudio = types.SimpleNamespace(load=load)
    kept = types.SimpleNamespace(**{name: getattr(numpy, name)
                                    for name in ("array", "sum", "linspace", "std")})
    kept.mean = lambda values: (lists.append(list(values)), numpy.mean(values))[1]
    module.np = kept
    with contextlib.redirect_stdout(io.StringIO()):
        module.eval_backchannel(str(root / "backchannel"))
    return {name: {i: float(v) for i, v in zip(order, values)}
            for name, values in zip(("jsd", "tor", "frequency"), lists)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--scripts", required=True)
    arguments = parser.parse_args()
    out, scripts = Path(arguments.out).resolve(), Path(arguments.scripts).resolve()
    sys.path.insert(0, str(scripts))
    sys.modules["torchaudio"] = types.ModuleType("torchaudio")  # only to load audio
    evaluate = {name: importlib.import_module(f"eval_{name}") for name in
                ("pause_handling", "smooth_turn_taking", "user_interruption", "backchannel")}
    cases = examples(random.Random(8))
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        os.chdir(root)
        write_folders(root, cases)
        Path("icc_gt_distribution.json").write_text(
            json.dumps({e["id"]: e["expected"] for e in cases}))
        result = {
            "pause": printed(evaluate["pause_handling"].eval_pause_handling, "pause"),
            "turn": printed(evaluate["smooth_turn_taking"].eval_smooth_turn_taking, "turn"),
            "interruption": printed(evaluate["user_interruption"].eval_user_interruption,
                                    "interruption", Judge()),
            "backchannel": backchannel_lists(evaluate["backchannel"], root, cases)}
    print({k: v for k, v in result.items() if k != "backchannel"})
    rf.write_json_gz(out / "full_duplex_bench.json.gz",
                     json.dumps({"examples": cases, **result}, separators=(",", ":")))


if __name__ == "__main__":
    main()
