"""A small Mimi of Kyutai's own class with random weights, and what it computes.

    NO_TORCH_COMPILE=1 python tests/reference/kyutai_mimi.py --out tests/reference/data

Needs the package moshi (0.2.13). kyutai_mimi/model.safetensors has the names of its published
tokenizer-*.safetensors. kyutai_mimi/expected.safetensors:

  input/audio [B,S]         whole frames
  output/codes [B,K,T]; output/audio [B,S], of the codes
"""

import argparse
import math
from pathlib import Path

import torch
from moshi.models import loaders
from safetensors.torch import save_file

FRAMES, SEED = 20, 71
SEANET = {
    **loaders._seanet_kwargs, "dimension": 16, "n_filters": 4, "ratios": [4, 3],
}
CONFIG = {
    "channels": 1,
    "sample_rate": 300,
    "frame_rate": 12.5,
    "seanet": SEANET,
    "transformer": {
        **loaders._transformer_kwargs, "d_model": 16, "num_heads": 4, "num_layers": 2,
        "context": 7, "dim_feedforward": 24, "input_dimension": 16, "output_dimensions": [16],
    },
    "quantizer": {
        "dimension": 8, "n_q": 5, "bins": 16, "input_dimension": 16, "output_dimension": 16,
    },
}


def draw_weights(model) -> None:
    generator = torch.Generator().manual_seed(SEED)
    for name, tensor in sorted(model.state_dict().items()):
        noise = torch.randn(tensor.shape, generator=generator)
        if "cluster_usage" in name:
            value = 0.5 + noise.abs()
        elif "_initialized" in name:
            value = torch.ones_like(tensor)
        elif "embedding_sum" in name:
            value = noise
        elif "layer_scale" in name:
            value = 0.5 + 0.2 * noise
        elif name.endswith("bias"):
            value = 0.2 * noise
        elif "norm" in name:
            value = 1.0 + 0.3 * noise
        else:
            value = noise * math.sqrt(1.5 / tensor[0].numel())
        tensor.copy_(value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    folder = parser.parse_args().out / "kyutai_mimi"
    folder.mkdir(exist_ok=True)
    model = loaders.get_mimi(None, CONFIG, num_codebooks=5)
    with torch.no_grad():
        draw_weights(model)
        save_file(model.state_dict(), folder / "model.safetensors")
        model = loaders.get_mimi(folder / "model.safetensors", CONFIG, num_codebooks=5)
        generator = torch.Generator().manual_seed(SEED)
        audio = torch.randn(2, 1, FRAMES * 24, generator=generator)
        codes = model.encode(audio)
        spoken = model.decode(codes)
    for book in codes.unbind(1):
        assert len(book.unique()) >= 6, book
    expected = {
        "input/audio": audio[:, 0].contiguous(), "output/codes": codes.contiguous(),
        "output/audio": spoken[:, 0].contiguous(),
    }
    save_file(expected, folder / "expected.safetensors")
    print(folder, {name: tuple(tensor.shape) for name, tensor in expected.items()})


if __name__ == "__main__":
    main()
