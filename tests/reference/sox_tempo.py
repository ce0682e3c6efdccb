"""What SoX's effect `tempo` makes of a signal: lhotse's Tempo calls it by torchaudio, as long as
that still has SoX's effects (before 2.9).

    python tests/reference/sox_tempo.py --sox sox --out tests/reference/data

sox_tempo.safetensors.gz: input/NAME [C, S] at 8 kHz, output/NAME/FACTOR. Made with SoX 14.4.2.
"""

import argparse
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import reference_file as rf
import soundfile as sf
from lhotse_cut_audio import tones
from safetensors.numpy import save

RATE = 8000
FACTORS = ["0.7", "0.9", "1.1", "1.5"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sox", default="sox")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    rng = np.random.default_rng(3)
    tensors = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, channels in (("mono", 1), ("stereo", 2)):
            audio = tones(rng, 4000, channels, RATE)
            tensors[f"input/{name}"] = audio
            sf.write(f"{folder}/in.wav", audio.T, RATE, subtype="FLOAT")
            for factor in FACTORS:
                subprocess.run([args.sox, "-D", f"{folder}/in.wav", "-e", "floating-point", "-b",
                                "32", f"{folder}/out.wav", "tempo", factor], check=True)
                changed = sf.read(f"{folder}/out.wav", dtype="float32", always_2d=True)[0]
                tensors[f"output/{name}/{factor}"] = np.ascontiguousarray(changed.T)
    rf.write_gz(args.out / "sox_tempo.safetensors.gz", save(tensors))


if __name__ == "__main__":
    main()
