"""Reference files of NVIDIA NeMo's RVQVAEModel, the codec of EAR-TTS (nemo_toolkit 3.0.0, CPU).

    python tests/reference/nemo_rvq_vae.py --out tests/reference/data [--case NAME] [--list]

kind=codec, name=rvq_vae; `options` is the model's codec_config. Random weights, fixed by seeds.

  weights/*                the state dict.
  input/audio              [B,S], S a multiple of wav_to_token_ratio, zero beyond each length.
  output/codes             encode, as [B,K,T] (NeMo has [B,T,K]); 0 beyond a row's length.
  output/lengths           NeMo's: length // wav_to_token_ratio. One row ends inside a frame.
  output/latents           ae_encode, [B,T,D].
  output/quantized         dequantize of the codes, [B,T,D].
  output/audio             decode of the codes without the range limit, [B,T * ratio].
  output/audio_constrained decode with the range limit, which is NeMo's default.
  output/audio_lengths     lengths * wav_to_token_ratio, as decode returns them.

Sensitivity: most entries of every book are used, no choice of an entry is close, and the range
limit changes some samples and leaves others. The noise check runs weights nudged by one rounding.
"""

import copy
import math
from pathlib import Path

import torch

import reference_file as rf

RTOL, ATOL = 1e-4, 2e-5

BASE = {
    "latent_size": 16, "n_fft": 16, "hop_length": 4, "base_hidden_size": 8, "channel_mult": [1, 2],
    "rates": [4, 5], "num_blocks": 2, "kernel_size": 7, "groups": 1, "codebook_size": 16,
    "num_quantizers": 5, "wav_to_token_ratio": 80,
}
CASES = {
    "two_stages": {"options": BASE, "lengths": [2400, 1960, 800], "seed": 31},
    "three_stages_groups": {
        "options": {**BASE, "n_fft": 12, "hop_length": 2, "channel_mult": [1, 2, 2],
                    "rates": [2, 3, 5], "groups": 2, "num_blocks": 1, "kernel_size": 5,
                    "num_quantizers": 3, "codebook_size": 24, "wav_to_token_ratio": 60},
        "lengths": [1500, 1240], "seed": 34,
    },
}


def draw_weights(model, seed) -> None:
    """Convolutions keep the scale of their input; books have the scale that NeMo gives them."""
    generator = torch.Generator().manual_seed(seed)
    books = model.config.num_quantizers
    for name, tensor in sorted(model.named_parameters()):
        noise = torch.randn(tensor.shape, generator=generator)
        parts = name.split(".")
        if "mus_list" in name:
            scale = (books - int(parts[-1])) / books
            value = scale * torch.nn.functional.normalize(noise, dim=1) * 3.0
        elif "variance" in name:
            value = 1.0 + 0.1 * noise.abs()
        elif parts[-1] == "bias":
            value = 0.2 * noise
        elif "norm" in name:
            value = 1.0 + 0.3 * noise
        else:
            fan_in = tensor[0].numel() if tensor.dim() > 1 else 1
            value = noise / math.sqrt(fan_in) * (0.5 if "pwconv2" in name else 1.0)
        tensor.data.copy_(value)
    model.encoder.layers[0].weight.data.mul_(6.0)  # a short window of quiet sound has small values


def code_margin(model, latents) -> tuple[float, float]:
    """Smallest gap between the nearest and the next entry, and the least share of used entries."""
    residual, margin, used = latents, math.inf, 1.0
    for book in model.prvq.mus_list:
        distances = model.prvq._dist_sq(residual, book)
        margin = min(margin, rf.greedy_margin(-distances))
        chosen = distances.argmin(-1)
        used = min(used, len(chosen.unique()) / len(book))
        residual = residual - book[chosen]
    return margin, used


def run(model, audio, lengths) -> dict:
    with torch.no_grad():
        latents = model.ae_encode(audio.unsqueeze(1))
        codes_BTK, code_lens = model.encode(audio.unsqueeze(1), lengths)
        valid = torch.arange(codes_BTK.shape[1]) < code_lens.unsqueeze(1)
        codes_BTK = codes_BTK * valid.unsqueeze(-1)
        free, audio_lens = model.decode(codes_BTK, code_lens, constrain_value_range=False)
        limited, _ = model.decode(codes_BTK, code_lens)
        return {
            "output/latents": latents,
            "output/codes": codes_BTK.transpose(1, 2).contiguous(),
            "output/lengths": code_lens,
            "output/quantized": model.dequantize(codes_BTK),
            "output/audio": free.squeeze(1),
            "output/audio_constrained": limited.squeeze(1),
            "output/audio_lengths": audio_lens,
        }


def make(name, out) -> None:
    from nemo.collections.speechlm2.modules.ear_tts_vae_codec import RVQVAEModel
    from omegaconf import DictConfig

    case = CASES[name]
    ratio = case["options"]["wav_to_token_ratio"]
    model = RVQVAEModel(DictConfig(case["options"])).eval()
    draw_weights(model, case["seed"])
    lengths = torch.tensor(case["lengths"])
    audio = 2.0 * rf.synthetic_audio(len(lengths), case["lengths"], case["seed"], sample_rate=8000)
    assert audio.shape[1] % ratio == 0
    weights = rf.weights_of(model)
    tensors = run(model, audio, lengths)
    twin = copy.deepcopy(model)
    rf.nudge(twin, case["seed"])
    ratios = rf.noise_ratio(tensors, run(twin, audio, lengths), RTOL, ATOL)
    worst = max(ratios, key=ratios.get)
    print(f"  noise: {ratios[worst]:.3f} of the tolerance at {worst}")
    assert ratios[worst] < 0.3, f"ill-conditioned: {worst}"
    margin, used = code_margin(model, tensors["output/latents"])
    free, limited = tensors["output/audio"], tensors["output/audio_constrained"]
    changed = ((free - limited).abs() > 1e-3).float().mean().item()
    tensors.update({f"weights/{k}": v for k, v in weights.items()})
    tensors.update({"input/audio": audio, "input/lengths": lengths})
    path = Path(out) / f"nemo_rvq_vae_{name}.safetensors"
    size = rf.write_reference(path, "codec", "rvq_vae", case["options"], tensors, RTOL, ATOL)
    rf.report(path, size, margin=margin, used=used, limited=changed,
              loudest=free.abs().max().item())
    assert margin > 1e-4 and used > 0.3 and 0.02 < changed < 0.95, "give it another seed"


if __name__ == "__main__":
    rf.run_cases(__doc__, CASES, make)
