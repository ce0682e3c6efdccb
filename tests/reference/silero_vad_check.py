"""The package silero-vad and our reading of its weights, on the same audio.

    python tests/reference/silero_vad_check.py BIN_FOLDER

Probabilities are within 1e-5, and spans are equal, for random, synthetic and (where flite is
installed) spoken audio, with each random options. Also says that the network of
silero_vad_reference.py is the package's. Exit code 77 without the package.
"""

import json
import math
import random
import shutil
import subprocess
import sys
import tempfile
from importlib import resources
from pathlib import Path

try:
    import soundfile
    import torch
    import torchaudio
    from silero_vad import get_speech_timestamps, load_silero_vad

    import reference_file as rf
    import silero_vad_reference
except ImportError as missing:
    print(f"skipped: {missing}; pip install -r tests/reference/requirements-peers.txt")
    sys.exit(77)

RATE, CHUNK, TOLERANCE = 16000, 512, 1e-5
OLDER = str(resources.files("silero_vad.data").joinpath("silero_vad_16k.safetensors"))
SENTENCES = ["Set a timer for ten minutes.", "What is the weather like in the mountains today?",
             "Yes. No. Well, let me think about that for a moment."]


def buzz(rng, seconds: float) -> torch.Tensor:
    """Harmonics with a melody and syllables, which the network takes for speech now and then."""
    time = torch.arange(int(seconds * RATE)) / RATE
    pitch = 120 + 30 * torch.sin(2 * math.pi * 0.7 * time + rng.random())
    phase = torch.cumsum(2 * math.pi * pitch / RATE, 0)
    wave = sum(torch.sin(k * phase) / k for k in range(1, 20))
    return 0.1 * wave * torch.sin(2 * math.pi * 2.0 * time).clamp(min=0)


def spoken(folder: Path) -> list[torch.Tensor]:
    found = []
    for i, sentence in enumerate(SENTENCES if shutil.which("flite") else []):
        path = folder / f"flite{i}.wav"
        subprocess.run(["flite", "-t", sentence, "-o", str(path)], check=True)
        audio, rate = soundfile.read(path, dtype="float32")
        found.append(torchaudio.functional.resample(torch.from_numpy(audio), rate, RATE))
    return found


def dialogue(rng, parts) -> torch.Tensor:
    """Parts in a random order, with pauses and noise."""
    pieces = []
    for part in rng.sample(parts, len(parts)):
        pieces += [torch.zeros(rng.randint(0, 3 * RATE)), part * rng.uniform(0.05, 2.0)]
    audio = torch.cat(pieces)
    return audio + rng.choice([0.0, 1e-4, 1e-2]) * torch.randn(len(audio))


def clips(folder: Path) -> list[torch.Tensor]:
    rng = random.Random(3)
    torch.manual_seed(3)
    parts = spoken(folder) + [buzz(rng, 2.5), 0.1 * torch.randn(RATE), buzz(rng, 0.8)]
    short = [torch.randn(n) for n in (1, 63, 511, 512, 513, 1025)]
    return short + [torch.zeros(RATE)] + [dialogue(rng, parts) for _ in range(12)]


def theirs(model, audio, options):
    model.reset_states()
    padded = torch.nn.functional.pad(audio, (0, -len(audio) % CHUNK))
    with torch.no_grad():
        found = [model(chunk, RATE).item() for chunk in padded.split(CHUNK)]
    speech = get_speech_timestamps(audio, model, sampling_rate=RATE, **options)
    return found, [[s["start"], s["end"]] for s in speech]


def by_our_names(state: dict) -> dict:
    names = {"stft.forward_basis_buffer": "stft_conv.weight", "decoder.rnn": "lstm_cell",
             "decoder.decoder.2": "final_conv",
             **{f"encoder.{i}.reparam_conv": f"conv{i + 1}" for i in range(4)}}
    found = {}
    for name, tensor in state.items():
        for theirs, ours in names.items():
            if name.startswith("_model." + theirs):
                found[ours + name.removeprefix("_model." + theirs)] = tensor
    return found


def gap_of(ours, theirs) -> float:
    return max(abs(a - b) for a, b in zip(ours, theirs, strict=True))


def run_ours(folder: Path, weights: str, cases: list[dict]) -> list[dict]:
    (folder / "in.json").write_text(json.dumps(cases))
    subprocess.run([f"{sys.argv[1]}/silero_ours", weights, folder / "in.json",
                    folder / "out.json"], check=True)
    return json.loads((folder / "out.json").read_text())


def check_formula(folder, model, audio, case) -> bool:
    """The network of the golden file is the package's, and reads its older weights as we do."""
    formula = silero_vad_reference.probabilities
    gap = gap_of(formula(by_our_names(model.state_dict()), audio).tolist(),
                 theirs(model, audio, {})[0])
    older = gap_of(formula(rf.read_tensors(OLDER), audio).tolist(),
                   run_ours(folder, OLDER, [case])[0]["probabilities"])
    print(f"the golden file's network differs by {gap:.1e}, with older weights {older:.1e}")
    return max(gap, older) < TOLERANCE


def main() -> int:
    model, rng, good, speech, widest = load_silero_vad(), random.Random(4), True, 0, 0.0
    with tempfile.TemporaryDirectory() as name:
        folder, cases = Path(name), []
        for i, audio in enumerate(clips(folder)):
            for options in ({}, silero_vad_reference.random_options(rng)):
                path = folder / f"{i}.f32"
                path.write_bytes(audio.numpy().tobytes())
                cases.append((audio, {"audio": str(path), "options": options}))
        weights = str(folder / "silero_vad.pt")
        torch.save(model.state_dict(), weights)
        results = run_ours(folder, weights, [case for _, case in cases])
        for (audio, case), found in zip(cases, results):
            probabilities, spans = theirs(model, audio, case["options"])
            gap = gap_of(found["probabilities"], probabilities)
            widest, speech = max(widest, gap), speech + len(spans)
            if gap > TOLERANCE or spans != found["spans"]:
                print(f"{case}: differs by {gap:.1e}\n  ours {found['spans']}\n  theirs {spans}")
                good = False
        good &= check_formula(folder, model, *cases[-1])
    print(f"{len(cases)} runs, {speech} spans of speech: {'equal' if good else 'different'}; "
          f"probabilities within {widest:.1e}")
    return 0 if good and speech > 20 else 1


if __name__ == "__main__":
    with torch.no_grad():
        sys.exit(main())
