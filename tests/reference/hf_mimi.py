"""Reference files of transformers' MimiModel, the codec of Moshi and CSM (CPU, float32).

    python tests/reference/hf_mimi.py --out tests/reference/data [--case NAME]

kind=codec, name=mimi; options = the text of config.json. Random weights, fixed by seeds.

  weights/*          the state dict, under the names of files.
  input/audio [B,S]  whole frames, longer than the attention window; lengths [B] all S.
  output/latents     before the quantizer, [B,H,T]
  output/codes       [B,K,T]
  output/audio       decode of the codes, [B,S]

Sensitivity: most entries of every book are used, and no choice of an entry is close.
"""

import argparse
import copy
import json
import math
import tempfile
from pathlib import Path

import torch
from safetensors.torch import load_file
from transformers import MimiConfig, MimiModel

import reference_file as rf

RTOL, ATOL = 1e-4, 2e-5
FRAMES = 30
BASE = {
    "sampling_rate": 300, "hidden_size": 16, "num_filters": 4, "num_residual_layers": 2,
    "upsampling_ratios": [4, 3], "kernel_size": 7, "codebook_size": 16, "codebook_dim": 8,
    "vector_quantization_hidden_dimension": 8, "num_quantizers": 5, "upsample_groups": 16,
    "num_hidden_layers": 2, "intermediate_size": 24, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 4, "sliding_window": 7,
}
CASES = {
    "small": (BASE, 61),
    # Two semantic books, no projections, four frames of the transformers in one of codes.
    "quarter_rate": (
        {**BASE, "frame_rate": 6.25, "num_semantic_quantizers": 2, "codebook_dim": 16,
         "vector_quantization_hidden_dimension": 16, "num_residual_layers": 1, "num_filters": 8},
        62,
    ),
}


def draw_weights(model, generator) -> None:
    for name, tensor in sorted(model.state_dict().items()):
        noise = torch.randn(tensor.shape, generator=generator)
        if "cluster_usage" in name:
            value = 0.5 + noise.abs()
            value[0] = 0  # never used: the zero vector
        elif "embed_sum" in name:
            value = noise
            value[0] = 0
        elif "initialized" in name:
            continue
        elif "layer_scale" in name:
            value = 0.5 + 0.2 * noise
        elif name.endswith("bias"):
            value = 0.2 * noise
        elif "layernorm" in name:
            value = 1.0 + 0.3 * noise
        else:
            value = noise * math.sqrt(1.5 / tensor[0].numel())
        tensor.copy_(value)
    for module in model.modules():
        if hasattr(module, "_embed"):
            module._embed = None


def run(model, audio) -> dict:
    latents = model.encoder(audio.unsqueeze(1)).latents
    codes = model.encode(audio.unsqueeze(1)).audio_codes
    return {"latents": latents, "codes": codes, "audio": model.decode(codes).audio_values[:, 0]}


def margin(model, latents, codes) -> float:
    """Smallest gap between the nearest and the next entry."""
    least = math.inf
    semantic = model.config.num_semantic_quantizers
    halves = ((model.quantizer.semantic_residual_vector_quantizer, codes[:, :semantic]),
              (model.quantizer.acoustic_residual_vector_quantizer, codes[:, semantic:]))
    for half, chosen in halves:
        residual = latents if half.input_proj is None else half.input_proj(latents)
        residual = residual.transpose(1, 2)
        for layer, book in zip(half.layers, chosen.unbind(1)):
            distances = torch.cdist(residual, layer.codebook.embed.expand(len(residual), -1, -1))
            least = min(least, rf.greedy_margin(-distances))
            residual = residual - layer.codebook.embed[book]
            assert len(book.unique()) >= layer.codebook.codebook_size // 2, len(book.unique())
    return least


def write_case(out: Path, name: str) -> None:
    options, seed = CASES[name]
    with torch.no_grad():
        for attempt in range(200):
            generator = torch.Generator().manual_seed(1000 * seed + attempt)
            model = MimiModel._from_config(MimiConfig(**options), attn_implementation="sdpa").eval()
            draw_weights(model, generator)
            frame = round(model.config.sampling_rate / model.config.frame_rate)
            audio = torch.randn(2, FRAMES * frame, generator=generator)
            outputs = run(model, audio)
            try:
                if margin(model, outputs["latents"], outputs["codes"]) > 2e-3:
                    break
            except AssertionError:
                continue
        else:
            raise SystemExit("no seed has clear choices")
        twin = copy.deepcopy(model)
        rf.nudge(twin, 7, 2.0**-24)
        again = run(twin, audio)
        assert torch.equal(again["codes"], outputs["codes"])
        for key in ("latents", "audio"):
            torch.testing.assert_close(again[key], outputs[key], rtol=RTOL, atol=ATOL)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        weights = load_file(Path(folder) / "model.safetensors")
        config = json.loads((Path(folder) / "config.json").read_text())
    tensors = {"weights/" + key: value for key, value in weights.items()}
    tensors["input/audio"] = audio
    tensors["input/lengths"] = torch.full((2,), audio.shape[1])
    tensors |= {"output/" + key: value.contiguous() for key, value in outputs.items()}
    path = out / f"hf_mimi_{name}.safetensors"
    rf.write_reference(path, "codec", "mimi", json.dumps(config), tensors)
    print(f"{path}: attempt {attempt}, codes {tuple(outputs['codes'].shape)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--case", choices=list(CASES))
    args = parser.parse_args()
    for name in [args.case] if args.case else CASES:
        write_case(args.out, name)


if __name__ == "__main__":
    main()
