"""Reference files of the losses and discriminators of NVIDIA NeMo's AudioCodecModel (nemo_toolkit
3.0.0, CPU, float32), with transformers' EncodecModel as the codec.

    python tests/reference/nemo_audio_codec_losses.py --out tests/reference/data [--case NAME]

kind=model, name=codec; `options` is {model}: the options of model.type codec. Random weights, fixed
by seeds.

  weights/encoder, decoder, quantizer   EncodecModel's; quantizer.pending is ours: no statistics.
  weights/discriminator                 NeMo's Discriminator, with few channels.
  input/audio_real, audio_gen           [B,S].
  output/codes, audio                   EncodecModel's encode and decode of audio_real.
  output/*_loss                         MultiResolutionMelLoss, MultiResolutionSTFTLoss,
                                        TimeDomainLoss, and those of the discriminators.
  output/loss                           the codec's and the discriminators', each with its weight.
  output/audio_gen_grad                 of the codec's losses alone, as NeMo's generator step.
  grad/discriminator.*                  of the discriminators' loss alone, as NeMo's other step;
                                        of the first and the last layer of each.
"""

import argparse
import math
from pathlib import Path

import torch
from nemo.collections.tts.losses import audio_codec_loss as losses
from nemo.collections.tts.modules import audio_codec_modules as modules
from transformers import EncodecConfig, EncodecModel

import reference_file as rf

RTOL, ATOL = 1e-4, 1e-6
RATE = 800
SAMPLES = 480
CODEC = {"sampling_rate": RATE, "hidden_size": 8, "num_filters": 4, "upsampling_ratios": [4, 2],
         "kernel_size": 3, "last_kernel_size": 3, "num_lstm_layers": 1, "codebook_size": 16}
LOSSES = {"window_lengths": [128, 64], "mel_loss_dims": [12, 6], "mel_loss_log_guard": 0.5,
          "mel_loss_l1_scale": 3.0, "mel_loss_l2_scale": 2.0, "stft_loss_scale": 4.0,
          "time_domain_loss_scale": 5.0, "gen_loss_scale": 1.5, "feature_loss_scale": 2.5}
CASES = {
    "squared": {"seed": 1, "periods": [2, 3], "period_channels": [3, 4],
                "window_lengths": [128], "stft_bands": [0, 0.55, 1], "stft_channels": 2,
                "loss_type": "squared", "feature_loss_type": "relative"},
    "hinge": {"seed": 2, "periods": [5], "period_channels": [3, 3], "window_lengths": [64, 128],
              "stft_bands": [0, 1], "stft_channels": 1, "loss_type": "hinge",
              "feature_loss_type": "absolute"},
}


def codec_model():
    bits = math.log2(CODEC["codebook_size"]) * RATE / 8
    config = EncodecConfig(**CODEC, target_bandwidths=[2 * bits / 1000])
    return EncodecModel(config).eval()


def discriminator(case):
    """NeMo's classes have fixed channels; their layers are replaced by narrow ones."""
    periods = modules.MultiPeriodDiscriminator(periods=case["periods"])
    channels = [1, *case["period_channels"]]
    for one in periods.discriminators:
        one.conv_layers = torch.nn.ModuleList(
            modules.Conv2dNorm(channels[i], channels[i + 1], kernel_size=(5, 1),
                               stride=(3 if i + 2 < len(channels) else 1, 1))
            for i in range(len(channels) - 1))
        one.conv_post = modules.Conv2dNorm(channels[-1], 1, kernel_size=(3, 1))
    edges = case["stft_bands"]
    spectra = modules.MultiResolutionDiscriminatorSTFT(
        resolutions=[(n, n // 4, n) for n in case["window_lengths"]],
        stft_bands=list(zip(edges, edges[1:])))
    for one in spectra.discriminators:
        one.discriminators = torch.nn.ModuleList(
            modules.DiscriminatorSTFT(filters=case["stft_channels"]) for _ in one.discriminators)
    return modules.Discriminator(discriminators=[periods, spectra])


def draw_weights(codec, judge, seed) -> None:
    seeds = iter(range(1000 * seed, 1000 * seed + 1000))
    for module in (codec, judge):
        for name, tensor in sorted(module.named_parameters()):
            if name.endswith("bias") or ".bias_" in name:
                rf.draw(tensor, next(seeds), 0.0, 0.1)
            elif name.endswith("original0"):
                rf.draw(tensor, next(seeds), 1.0, 0.2)
            elif name.endswith("original1"):
                rf.draw(tensor, next(seeds), 0.0, 1.0)
            else:
                rf.draw(tensor, next(seeds), 0.0, 0.4)
    for layer in codec.quantizer.layers:
        rf.draw(layer.codebook.embed, next(seeds), 0.0, 0.5)


def mean_losses(case, judge, real, made) -> dict:
    lengths = torch.full((len(real),), real.shape[1])
    windows = [[n, n // 4, n] for n in LOSSES["window_lengths"]]
    both = {"audio_real": real, "audio_gen": made, "audio_len": lengths}
    mel_l1, mel_l2 = losses.MultiResolutionMelLoss(
        sample_rate=RATE, resolutions=windows, mel_dims=LOSSES["mel_loss_dims"],
        log_guard=LOSSES["mel_loss_log_guard"])(**both)
    kind = case["loss_type"].capitalize().replace("Hinge", "Hinged")
    generator = getattr(losses, f"Generator{kind}Loss")()
    judges = getattr(losses, f"Discriminator{kind}Loss")()
    features = (losses.RelativeFeatureMatchingLoss() if case["feature_loss_type"] == "relative"
                else losses.FeatureMatchingLoss())
    scores_real, scores_gen, fmaps_real, fmaps_gen = judge(audio_real=real, audio_gen=made)
    detached_real, detached_gen, _, _ = judge(audio_real=real, audio_gen=made.detach())
    return {
        "mel_l1_loss": mel_l1, "mel_l2_loss": mel_l2,
        "stft_loss": losses.MultiResolutionSTFTLoss(resolutions=windows)(**both),
        "time_loss": losses.TimeDomainLoss()(**both),
        "gen_loss": generator(disc_scores_gen=scores_gen),
        "feature_loss": features(fmaps_real=[[f.detach() for f in one] for one in fmaps_real],
                                 fmaps_gen=fmaps_gen),
        "disc_loss": judges(disc_scores_real=detached_real, disc_scores_gen=detached_gen),
    }


def run(case, codec, judge, real, made) -> dict:
    with torch.no_grad():
        codes = codec.encode(real.unsqueeze(1)).audio_codes
        out = {"output/codes": codes[0].long(),
               "output/audio": codec.decode(codes, [None]).audio_values.squeeze(1)}
    made = made.clone().requires_grad_(True)
    judge.zero_grad()
    values = mean_losses(case, judge, real, made)
    weights = {"mel_l1_loss": LOSSES["mel_loss_l1_scale"],
               "mel_l2_loss": LOSSES["mel_loss_l2_scale"], "stft_loss": LOSSES["stft_loss_scale"],
               "time_loss": LOSSES["time_domain_loss_scale"],
               "gen_loss": LOSSES["gen_loss_scale"], "feature_loss": LOSSES["feature_loss_scale"]}
    of_codec = sum(weight * values[name] for name, weight in weights.items())
    out["output/audio_gen_grad"] = torch.autograd.grad(of_codec, made, retain_graph=True)[0]
    values["disc_loss"].backward()
    out["output/loss"] = (of_codec + values["disc_loss"]).detach()
    out.update({f"output/{name}": value.detach() for name, value in values.items()})
    out.update({f"grad/discriminator.{name}": parameter.grad.clone()
                for name, parameter in judge.named_parameters()
                if "conv_layers.0." in name or "conv_post." in name})
    return out


def make(name, out) -> None:
    case = dict(CASES[name])
    seed = case.pop("seed")
    torch.manual_seed(seed)
    codec, judge = codec_model(), discriminator(case)
    draw_weights(codec, judge, seed)
    real, made = (rf.noise_audio(2, [SAMPLES, SAMPLES], 10 * seed + i) for i in (1, 2))
    tensors = run(case, codec, judge, real, made)
    twins = codec_model(), discriminator(case)
    twins[0].load_state_dict(codec.state_dict())
    twins[1].load_state_dict(judge.state_dict())
    for twin in twins:
        rf.nudge(twin, seed)
    ratios = rf.noise_ratio(tensors, run(case, *twins, real, made), RTOL, ATOL)
    worst = max(ratios, key=ratios.get)
    tensors.update({f"weights/{n}": t for n, t in rf.weights_of(codec).items()})
    books, size = len(codec.quantizer.layers), CODEC["codebook_size"]
    tensors["weights/quantizer.pending"] = torch.zeros(
        books, size * (CODEC["hidden_size"] + 1) + 1)
    tensors.update({f"weights/discriminator.{n}": t for n, t in rf.weights_of(judge).items()
                    if not n.endswith("window")})
    tensors.update({"input/audio_real": real, "input/audio_gen": made})
    options = {"model": {**CODEC, "num_codebooks": books, **LOSSES, "segment_s": SAMPLES / RATE,
                         "discriminator": case}}
    path = Path(out) / f"nemo_audio_codec_losses_{name}.safetensors"
    written = rf.write_small(path, "model", "codec", options, tensors, RTOL, ATOL)
    rf.report(path, written, noise=ratios[worst], at=worst,
              loss=tensors["output/loss"].item())
    assert ratios[worst] < 0.5, f"ill-conditioned: {worst}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=str(Path(__file__).parent / "data"))
    parser.add_argument("--case", action="append", choices=sorted(CASES))
    arguments = parser.parse_args()
    for name in arguments.case or sorted(CASES):
        make(name, arguments.out)


if __name__ == "__main__":
    main()
