"""Encoders and recognizers of published sizes with random weights: the peer and ours in turn, from
audio to features, or to ids. Prints the ratios ours / peer.

    python tests/benchmark/speech_bench.py [--ours build/bin/speech_bench] [--threads 2] [--pairs 3]
        [--rows 1] [--seconds 10] [--processor-time] [--nemo PYTHON]
        [--parts whisper wav2vec2 fastconformer ctc rnnt tdt]

Encoders: whisper (small) and wav2vec2 (base) are transformers'; fastconformer (large: 17 layers of
512) is NeMo's, in the Python that --nemo names, and is left out without it. Recognizers:
transformers' ParakeetForCTC, ForRNNT and ForTDT with an encoder of that size and 1024 pieces;
greedy. Transducers find at most one label in a frame (max_symbols_per_step: 1).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RATE, PIECES = 16000, 1024
RECOGNIZERS = {"ctc": "ctc", "rnnt": "transducer", "tdt": "transducer"}  # part: scorer
FASTCONFORMER = {
    "preprocessor": {"_target_": "nemo.collections.asr.modules.AudioToMelSpectrogramPreprocessor",
                     "sample_rate": RATE, "features": 80, "normalize": "per_feature",
                     "window_size": 0.025, "window_stride": 0.01, "n_fft": 512, "dither": 0.0,
                     "pad_to": 0},
    "encoder": {"_target_": "nemo.collections.asr.modules.ConformerEncoder", "feat_in": 80,
                "n_layers": 17, "d_model": 512, "n_heads": 8, "subsampling": "dw_striding",
                "subsampling_factor": 8, "subsampling_conv_channels": 256,
                "conv_kernel_size": 9, "self_attention_model": "rel_pos"},
}
PARAKEET = {"hidden_size": 512, "num_hidden_layers": 17, "num_attention_heads": 8,
            "intermediate_size": 2048, "num_mel_bins": 80, "subsampling_conv_channels": 256}


def balance(model, extract) -> None:
    """A label in a quarter of the frames of noise: the blank's score is raised, and labels hardly
    change what is found next."""
    import torch

    noise = (0.1 * torch.randn(5 * RATE)).numpy()
    with torch.inference_mode():
        model.decoder.decoder_projector.weight.mul_(0.01)
        given = extract([noise], sampling_rate=RATE, return_tensors="pt")
        logits = model(**given, decoder_input_ids=torch.full((1, 1), PIECES)).logits
        gap = logits[..., :PIECES].amax(-1) - logits[..., PIECES]
        model.joint.head.bias[PIECES] += gap.flatten().float().quantile(0.75)


def write_recognizer(name: str, folder: str) -> None:
    from transformers import ParakeetFeatureExtractor
    from transformers.models.parakeet import configuration_parakeet, modeling_parakeet

    kind = name.upper()
    more = {} if name == "ctc" else {
        "blank_token_id": PIECES, "decoder_hidden_size": 640, "num_decoder_layers": 1,
        "max_symbols_per_step": 1}
    config = getattr(configuration_parakeet, f"Parakeet{kind}Config")(
        encoder_config=PARAKEET, vocab_size=PIECES + 1,
        pad_token_id=PIECES if name == "ctc" else 2, **more)
    extract = ParakeetFeatureExtractor(feature_size=80)
    model = getattr(modeling_parakeet, f"ParakeetFor{kind}")(config).eval()
    if name != "ctc":
        balance(model, extract)
    model.save_pretrained(folder)
    extract.save_pretrained(folder)
    vocabulary = {chr(0x4E00 + i): i for i in range(PIECES)}
    (Path(folder) / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": None,
        "post_processor": None, "decoder": None,
        "model": {"type": "BPE", "merges": [], "vocab": vocabulary}}))


def write_model(name: str, folder: str) -> str:
    """Writes what both sides read; returns its path."""
    if name == "fastconformer":
        path = Path(folder) / "blocks.json"
        path.write_text(json.dumps(FASTCONFORMER))
        return str(path)
    if name in RECOGNIZERS:
        write_recognizer(name, folder)
        return folder
    from transformers import (Wav2Vec2Config, Wav2Vec2FeatureExtractor, Wav2Vec2Model,
                              WhisperConfig, WhisperFeatureExtractor, WhisperModel)

    if name == "whisper":
        WhisperModel(WhisperConfig(
            d_model=768, encoder_layers=12, encoder_attention_heads=12, encoder_ffn_dim=3072,
            decoder_layers=1, decoder_attention_heads=12, decoder_ffn_dim=64,
        )).save_pretrained(folder)
        WhisperFeatureExtractor().save_pretrained(folder)
    else:
        Wav2Vec2Model(Wav2Vec2Config()).save_pretrained(folder)
        Wav2Vec2FeatureExtractor().save_pretrained(folder)
    return folder


def nemo_forward(path: str, audio):
    import torch
    from nemo.core.classes.common import Serialization
    from omegaconf import DictConfig

    blocks = json.loads(Path(path).read_text())
    front, encoder = (Serialization.from_config_dict(DictConfig(blocks[key])).eval()
                      for key in ("preprocessor", "encoder"))
    lengths = torch.full((audio.size(0),), audio.size(1))

    def forward():
        mel, frames = front(input_signal=audio, length=lengths)
        return encoder(audio_signal=mel, length=frames)

    return forward


def peer_work(name: str, path: str, audio):
    """A function without arguments, from audio to features or ids."""
    if name == "fastconformer":
        return nemo_forward(path, audio)
    from transformers import AutoFeatureExtractor, AutoModel
    from transformers.models.parakeet import modeling_parakeet

    kind = AutoModel
    if name in RECOGNIZERS:
        kind = getattr(modeling_parakeet, f"ParakeetFor{name.upper()}")
    model = kind.from_pretrained(path).eval()
    extract = AutoFeatureExtractor.from_pretrained(path)
    rows = [row.numpy() for row in audio]

    def features():
        return extract(rows, sampling_rate=RATE, return_tensors="pt")

    return {"whisper": lambda: model.encoder(features().input_features),
            "wav2vec2": lambda: model(features().input_values),
            "ctc": lambda: model.generate(**features()),
            "rnnt": lambda: model.generate(**features(), decoder_start_token_id=PIECES),
            "tdt": lambda: model.generate(**features(), decoder_start_token_id=PIECES),
            }[name]


def measure(args) -> None:
    import torch

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    torch.manual_seed(1)
    audio = 0.1 * torch.randn(args.rows, int(args.seconds * RATE))
    work, times = peer_work(*args.measure, audio), []
    with torch.inference_mode():
        for _ in range(args.rounds + 1):
            begin = time.perf_counter()
            work()
            times.append(time.perf_counter() - begin)
    print(json.dumps({"seconds": statistics.median(times[1:])}))


def seconds_of(command, env, args) -> float:
    """Of one round. Processor time is that of the rounds beyond the first."""
    def run(rounds):
        before = os.times().children_user
        out = subprocess.check_output([*command[:-1], str(rounds)], env=env,
                                      stderr=subprocess.DEVNULL)
        return json.loads(out.splitlines()[-1])["seconds"], os.times().children_user - before

    if not args.processor_time:
        return run(args.rounds)[0]
    return (run(args.rounds + 1)[1] - run(1)[1]) / args.rounds


def compare(args, name: str, folder: str) -> None:
    env = {**os.environ, "OMP_NUM_THREADS": str(args.threads)}
    path = write_model(name, folder)
    sizes = [str(args.rows), str(args.seconds), str(args.rounds)]
    python = args.nemo if name == "fastconformer" else sys.executable
    theirs = [python, __file__, "--measure", name, path, "--rows", sizes[0], "--seconds", sizes[1],
              "--rounds", sizes[2]]
    kind = ["scorer", RECOGNIZERS[name]] if name in RECOGNIZERS else ["encoder", name]
    ours = [args.ours, *kind, path, *sizes]
    ratios = []
    for _ in range(args.pairs):
        took = [seconds_of(command, env, args) for command in (theirs, ours)]
        print(f"{name}: peer {took[0]:.3f} s, ours {took[1]:.3f} s", flush=True)
        ratios.append(took[1] / took[0])
    print(f"{name}: {statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f}) of the "
          "peer", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ours", default="build/bin/speech_bench")
    parser.add_argument("--nemo", help="the Python that has NeMo")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--parts", nargs="+",
                        default=["whisper", "wav2vec2", "fastconformer", *RECOGNIZERS])
    parser.add_argument("--processor-time", action="store_true",
                        help="for a machine that is not idle")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        return measure(args)
    for name in args.parts:
        if name == "fastconformer" and args.nemo is None:
            continue
        with tempfile.TemporaryDirectory() as folder:
            compare(args, name, folder)


if __name__ == "__main__":
    main()
