"""usage: peer/bin/python tests/benchmark/round_trips.py REPORT

Mel distances between the recordings of a listening report (`s2s-run validate`) and what a codec
makes of them, for each data set: the number that validation of model.type codec calls
`mel_distance` (plugins/models/codec/spectral_losses.cc), of any codec. Recordings have 16 kHz; the
windows are those of configs/codec.yaml.
"""

import collections
import json
import sys
from pathlib import Path

import soundfile
import torch
import torchaudio

RATE = 16000
RESOLUTIONS = [(1024, 80), (512, 40), (256, 20)]


def log_mel(audio, window, bands):
    spectrum = torch.stft(audio, window, window // 4, window,
                          torch.hann_window(window, periodic=False), center=True,
                          pad_mode="constant", return_complex=True)
    magnitudes = (torch.view_as_real(spectrum).square().sum(-1) + 1e-5).sqrt()
    bank = torchaudio.functional.melscale_fbanks(window // 2 + 1, 0, RATE / 2, bands, RATE,
                                                 norm=None, mel_scale="slaney")
    mel = (bank.T @ magnitudes)[:, : len(audio) // (window // 4)]
    return mel.clamp_min(1e-5).log10()


def distance(first, second):
    length = min(len(first), len(second))
    return sum((log_mel(first[:length], *one) - log_mel(second[:length], *one)).abs().mean().item()
               for one in RESOLUTIONS) / len(RESOLUTIONS)


def main():
    report = Path(sys.argv[1])
    lines = [json.loads(line) for line in (report / "predictions.jsonl").read_text().splitlines()]
    distances = collections.defaultdict(list)
    for number, line in enumerate(lines):
        of = [next((report / "wav").glob(f"{number:04d}_*.{kind}.wav"))
              for kind in ("reference", "round_trip")]
        pair = [torch.from_numpy(soundfile.read(path, dtype="float32")[0]) for path in of]
        distances[line["data_set"]].append(distance(*pair))
    for name, values in distances.items():
        print(f"{name}: {sum(values) / len(values):.4f}, {len(values)} recordings")


if __name__ == "__main__":
    main()
