"""Golden vectors of Silero's voice activity detection.

    python tests/reference/silero_vad_reference.py --out tests/reference/data

  silero_vad.safetensors  a file of kind metric: the network of the package silero-vad (v5, v6) with
                          random weights, audio, and the probability of each chunk
  silero_spans.json       random probabilities and options -> get_speech_timestamps of the package
"""

import argparse
import json
import random
from pathlib import Path

import torch

import reference_file as rf

CHUNK, CONTEXT, BINS = 512, 64, 129
CONVOLUTIONS = [("conv1", BINS, 128, 1), ("conv2", 128, 64, 2), ("conv3", 64, 64, 2),
                ("conv4", 64, 128, 1)]
KEYS = ("threshold", "neg_threshold", "min_speech_duration_ms", "min_silence_duration_ms",
        "speech_pad_ms")


def random_weights() -> dict:
    """Deviations that keep activations of about one; larger last ones, so that probabilities
    move."""
    shapes = {"stft_conv.weight": ((2 * BINS, 1, 256), 0.2),
              "lstm_cell.weight_ih": ((512, 128), 0.3), "lstm_cell.weight_hh": ((512, 128), 0.1),
              "lstm_cell.bias_ih": ((512,), 0.3), "lstm_cell.bias_hh": ((512,), 0.3),
              "final_conv.weight": ((1, 128, 1), 1.0), "final_conv.bias": ((1,), 0.3)}
    for name, inputs, outputs, _ in CONVOLUTIONS:
        shapes[f"{name}.weight"] = ((outputs, inputs, 3), 1.4 / (3 * inputs) ** 0.5)
        shapes[f"{name}.bias"] = ((outputs,), 0.1)
    return {name: rf.draw(torch.empty(shape), 40 + i, 0.0, std)
            for i, (name, (shape, std)) in enumerate(sorted(shapes.items()))}


def probabilities(weights: dict, audio: torch.Tensor) -> torch.Tensor:
    """The network, chunk by chunk. silero_vad_check.py says that this is the package's."""
    audio = torch.nn.functional.pad(audio, (CONTEXT, -len(audio) % CHUNK))
    cell = torch.nn.LSTMCell(128, 128)
    cell.load_state_dict({k.removeprefix("lstm_cell."): v for k, v in weights.items()
                          if k.startswith("lstm_cell.")})
    state, found = None, []
    for begin in range(CONTEXT, len(audio), CHUNK):
        chunk = audio[None, None, begin - CONTEXT:begin + CHUNK]
        waves = torch.conv1d(torch.nn.functional.pad(chunk, (0, CONTEXT), "reflect"),
                             weights["stft_conv.weight"], stride=128)
        x = (waves[:, :BINS] ** 2 + waves[:, BINS:] ** 2).sqrt()
        for name, _, _, stride in CONVOLUTIONS:
            kernel, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
            x = torch.conv1d(x, kernel, bias, stride, 1).relu()
        state = cell(x.squeeze(-1), state)
        x = torch.conv1d(state[0].unsqueeze(-1).relu(), weights["final_conv.weight"],
                         weights["final_conv.bias"])
        found.append(x.sigmoid().flatten())
    return torch.cat(found)


def random_options(rng) -> dict:
    options = {"threshold": rng.choice([0.5, 0.5, 0.3, 0.7, 0.05]),
               "min_speech_duration_ms": rng.choice([250, 250, 0, 100, 64]),
               "min_silence_duration_ms": rng.choice([100, 100, 0, 64, 400]),
               "speech_pad_ms": rng.choice([30, 30, 0, 33, 200])}
    if rng.random() < 0.3:
        options["neg_threshold"] = rng.choice([0.1, 0.25, 0.6])
    return options


def random_probabilities(rng) -> list[float]:
    """Speech and silence in turns, with noise."""
    found = []
    while len(found) < rng.randint(1, 120):
        level = rng.choice([0.05, 0.2, 0.45, 0.6, 0.95])
        found += [min(1.0, max(0.0, rng.gauss(level, 0.1))) for _ in range(rng.randint(1, 12))]
    return [round(p, 3) for p in found]


class FromList:
    """A model that says what it was given."""

    def __init__(self, found):
        self.found = iter(found)

    def reset_states(self):
        pass

    def __call__(self, chunk, rate):
        return torch.tensor(next(self.found))


def spans(rng) -> dict:
    from silero_vad import get_speech_timestamps

    found, options = random_probabilities(rng), random_options(rng)
    samples = CHUNK * len(found) - rng.randint(0, CHUNK - 1)
    speech = get_speech_timestamps(torch.zeros(samples), FromList(found), **options)
    return {"probabilities": found, "options": options, "samples": samples,
            "spans": [[s["start"], s["end"]] for s in speech]}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    out = Path(parser.parse_args().out)
    torch.manual_seed(0)
    with torch.no_grad():
        weights = random_weights()
        audio = rf.draw(torch.empty(16000), 39, 0.0, 0.1)
        tensors = {f"weights/{k}": v for k, v in weights.items()}
        tensors |= {"input/audio": audio, "output/probabilities": probabilities(weights, audio)}
    print(tensors["output/probabilities"])
    rf.write_small(out / "silero_vad.safetensors", "metric", "turn_taking", {}, tensors)
    rng = random.Random(5)
    cases = [spans(rng) for _ in range(200)]
    rf.write_json_gz(out / "silero_spans.json.gz", json.dumps(cases, separators=(",", ":")))


if __name__ == "__main__":
    main()
