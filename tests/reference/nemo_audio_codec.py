"""Reference files of NVIDIA NeMo's AudioCodecModel (nemo_toolkit 3.0.0, CPU, float32).

    python tests/reference/nemo_audio_codec.py --out tests/reference/data [--case NAME] [--list]

kind=codec, name=nemo_audio_codec; `options` is the model_config.yaml as JSON. Random weights, fixed
by seeds.

  weights/*             the state dict, without the discriminator and the buffers of losses.
  input/audio           [B,S], zero beyond each length.
  output/codes          encode, [B,K,T]; 0 beyond a row's length.
  output/lengths        of rows that end inside a frame, too.
  output/latents        encode_audio, as [B,T,D].
  output/quantized      dequantize of the codes, as [B,T,D].
  output/audio          decode of the codes, [B,T * samples_per_frame].
  output/audio_lengths  lengths * samples_per_frame.

Sensitivity: all levels of every element are used, and no element is close to a boundary. The noise
check runs weights nudged by one rounding.

nemo_audio_codec.nemo is the archive that NeMo saves of the case mixed_elu.
"""

import copy
import math
from pathlib import Path

import torch

import reference_file as rf

RTOL, ATOL = 1e-4, 2e-5
MODULES = "nemo.collections.tts.modules.audio_codec_modules."
LOSSES = "nemo.collections.tts.losses.audio_codec_loss."


def config(encoder, decoder, quantizer, samples_per_frame) -> dict:
    return {
        "target": "nemo.collections.tts.models.audio_codec.AudioCodecModel",
        "sample_rate": 8000,
        "samples_per_frame": samples_per_frame,
        "loss_resolutions": [[64, 16, 64]],
        "mel_loss_dims": [4],
        "commit_loss_scale": 0.0,
        "audio_encoder": encoder,
        "vector_quantizer": {"_target_": MODULES + "GroupFiniteScalarQuantizer", **quantizer},
        "audio_decoder": decoder,
        "generator_loss": {"_target_": LOSSES + "GeneratorSquaredLoss"},
        "discriminator_loss": {"_target_": LOSSES + "DiscriminatorSquaredLoss"},
    }


def encoder(kind, rates, width, **more) -> dict:
    return {"_target_": MODULES + kind, "down_sample_rates": rates, "encoded_dim": width,
            "base_channels": 4, "resblock_kernel_sizes": [3, 5],
            "resblock_dilation_sizes": [1, 2], **more}


def decoder(kind, rates, width, channels, **more) -> dict:
    return {"_target_": MODULES + kind, "up_sample_rates": rates, "input_dim": width,
            "base_channels": channels, "resblock_kernel_sizes": [3, 5],
            "resblock_dilation_sizes": [1, 2], **more}


CASES = {
    "causal_half_snake": {
        "options": config(
            encoder("CausalHiFiGANEncoder", [2, 3, 5], 8, activation="half_snake"),
            decoder("CausalHiFiGANDecoder", [5, 3, 2], 8, 32, activation="half_snake",
                    output_activation="clamp"),
            {"num_groups": 2, "num_levels_per_group": [9, 8, 8, 7]}, 30),
        "lengths": [900, 631, 240], "seed": 51,
    },
    "symmetric_snake": {
        "options": config(
            encoder("HiFiGANEncoder", [2, 3, 4], 6, activation="snake"),
            decoder("HiFiGANDecoder", [4, 3, 2], 6, 32, activation="lrelu"),
            {"num_groups": 3, "num_levels_per_group": [8, 5]}, 24),
        "lengths": [720, 480, 301], "seed": 52,
    },
    # The low-frame-rate codec: an encoder that sees the future, and a decoder that does not.
    "mixed_elu": {
        "options": config(
            encoder("HiFiGANEncoder", [2, 5], 4, activation="elu", resblock_kernel_sizes=[3]),
            decoder("CausalHiFiGANDecoder", [5, 2], 4, 16, activation="elu",
                    resblock_kernel_sizes=[3], n_groups_equal_to_out_channels=False),
            {"num_groups": 1, "num_levels_per_group": [7, 6, 5, 4]}, 10),
        "lengths": [400, 395], "seed": 53,
    },
}


def build(options):
    from nemo.collections.tts.models.audio_codec import AudioCodecModel
    from omegaconf import DictConfig

    return AudioCodecModel(cfg=DictConfig(copy.deepcopy(options))).eval()


def draw_weights(model, seed) -> None:
    """Convolutions keep the scale of their input. Weight norm keeps a direction and a length."""
    seeds = iter(range(1000 * seed, 1000 * seed + 1000))
    for name, tensor in sorted(model.named_parameters()):
        if name.endswith("original1"):
            rf.draw(tensor, next(seeds), 0.0, 1.0)
    for name, tensor in sorted(model.named_parameters()):
        if name.endswith("alpha"):
            rf.draw(tensor, next(seeds), 1.0, 0.3)
        elif name.endswith("bias"):
            rf.draw(tensor, next(seeds), 0.0, 0.1)
        elif name.endswith("original0"):
            gain = 4.0 if name.startswith("audio_encoder.post_conv") else 0.9
            rf.draw(tensor, next(seeds), gain, 0.1)


def run(model, audio, lengths) -> dict:
    with torch.no_grad():
        latents, _ = model.encode_audio(audio=audio, audio_len=lengths)
        codes, code_lens = model.encode(audio=audio, audio_len=lengths)
        spoken, spoken_lens = model.decode(tokens=codes, tokens_len=code_lens)
        return {
            "output/latents": latents.transpose(1, 2).contiguous(),
            "output/codes": codes.long(),
            "output/lengths": code_lens.long(),
            "output/quantized": model.dequantize(tokens=codes, tokens_len=code_lens)
            .transpose(1, 2).contiguous(),
            "output/audio": spoken,
            "output/audio_lengths": spoken_lens.long(),
        }


def margins(model, latents) -> tuple[float, float]:
    """Smallest distance from a boundary between levels, and the least share of used levels."""
    groups = latents.transpose(1, 2).chunk(model.num_codebooks, dim=1)
    margin, used = math.inf, 1.0
    for fsq, group in zip(model.vector_quantizer.fsqs, groups):
        values = fsq.compress(inputs=group, input_len=None)
        margin = min(margin, (0.5 - (values - values.round()).abs()).min().item())
        for element, count in enumerate(fsq.num_levels.flatten().tolist()):
            levels = values[:, element].round().unique()
            used = min(used, len(levels) / count)
    return margin, used


def make(name, out) -> None:
    case = CASES[name]
    torch.manual_seed(case["seed"])
    model = build(case["options"])
    draw_weights(model, case["seed"])
    lengths = torch.tensor(case["lengths"])
    audio = 2.0 * rf.synthetic_audio(len(lengths), case["lengths"], case["seed"], sample_rate=8000)
    tensors = run(model, audio, lengths)
    twin = build(case["options"])
    twin.load_state_dict(model.state_dict())
    rf.nudge(twin, case["seed"])
    ratios = rf.noise_ratio(tensors, run(twin, audio, lengths), RTOL, ATOL)
    worst = max(ratios, key=ratios.get)
    margin, used = margins(model, tensors["output/latents"])
    weights = {n: t for n, t in rf.weights_of(model).items() if n.startswith("audio_")}
    tensors.update({f"weights/{n}": t for n, t in weights.items()})
    tensors.update({"input/audio": audio, "input/lengths": lengths})
    path = Path(out) / f"nemo_audio_codec_{name}.safetensors"
    size = rf.write_small(path, "codec", "nemo_audio_codec", case["options"], tensors, RTOL, ATOL)
    rf.report(path, size, noise=ratios[worst], at=worst, margin=margin, used=used,
              loudest=tensors["output/audio"].abs().max().item())
    if name == "mixed_elu":
        model.save_to(str(Path(out) / "nemo_audio_codec.nemo"))
    assert ratios[worst] < 0.3, f"ill-conditioned: {worst}"
    assert margin > 2e-5 and used > 0.5, "give it another seed"


if __name__ == "__main__":
    rf.run_cases(__doc__, CASES, make)
