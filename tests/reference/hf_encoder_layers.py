"""Layers of encoders in which each position sees all others: transformers' Whisper, whose norm
comes first, and wav2vec 2.0, whose norm comes last.

    python tests/reference/hf_encoder_layers.py --out tests/reference/data

  encoder_layers.safetensors   NAME/weights/* as in checkpoints; input [2, T, H]; of wav2vec2 the
                               lengths [2] of what is seen; NAME/output [2, T, H] (rows of wav2vec2
                               mean something before their length only)
"""

import argparse
from pathlib import Path

import torch
from transformers import Wav2Vec2Config, WhisperConfig
from transformers.models.wav2vec2.modeling_wav2vec2 import Wav2Vec2EncoderLayer
from transformers.models.whisper.modeling_whisper import WhisperEncoderLayer

import reference_file as rf

WIDTH, HEADS, INNER, FRAMES = 16, 4, 24, 9


def drawn(layer, generator):
    for _, tensor in sorted(layer.state_dict().items()):
        tensor.copy_(torch.randn(tensor.shape, generator=generator) * 0.3)
    return layer.eval()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    generator = torch.Generator().manual_seed(71)
    x = torch.randn(2, FRAMES, WIDTH, generator=generator)
    lengths = torch.tensor([FRAMES, 5])
    hidden = torch.arange(FRAMES) >= lengths[:, None]
    mask = torch.zeros(2, 1, 1, FRAMES).masked_fill(hidden[:, None, None], float("-inf"))
    whisper = drawn(WhisperEncoderLayer(WhisperConfig(
        d_model=WIDTH, encoder_attention_heads=HEADS, encoder_ffn_dim=INNER,
        attn_implementation="eager")), generator)
    wav2vec2 = drawn(Wav2Vec2EncoderLayer(Wav2Vec2Config(
        hidden_size=WIDTH, num_attention_heads=HEADS, intermediate_size=INNER,
        attn_implementation="eager")), generator)
    tensors = {"input": x, "lengths": lengths}
    with torch.no_grad():
        for name, layer, given in (("whisper", whisper, None), ("wav2vec2", wav2vec2, mask)):
            for key, value in layer.state_dict().items():
                tensors[f"{name}/weights/{key}"] = value
            output = layer(x, attention_mask=given)
            tensors[f"{name}/output"] = output[0] if isinstance(output, tuple) else output
    size = rf.write_safetensors(args.out / "encoder_layers.safetensors", tensors, {})
    print(f"encoder_layers.safetensors: {size} bytes")


if __name__ == "__main__":
    with torch.no_grad():
        main()
