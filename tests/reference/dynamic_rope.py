"""Rotary angles of transformers' "dynamic" scaling over a history of texts: dynamic_rope.json.

    python tests/reference/dynamic_rope.py [--out tests/reference/data]

One LlamaRotaryEmbedding for 8 positions sees the calls in order: whole texts that grow, shrink
below the original length and grow again, then a prompt with single positions after it, as when
decoding with a cache. Each call has the first position, and the cosines and sines [T, head_dim].
"""

import argparse
from pathlib import Path

import torch
from transformers import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

import reference_file as rf

HEAD_DIM, POSITIONS, FACTOR, THETA = 8, 8, 4.0, 10000.0
WHOLE = [(0, 5), (0, 12), (0, 9), (0, 8), (0, 7), (0, 8), (0, 9), (0, 20), (0, 10)]
CACHED = [(0, 6), (6, 1), (7, 1), (8, 1), (9, 1), (10, 4)]


def calls():
    config = LlamaConfig(
        hidden_size=2 * HEAD_DIM,
        num_attention_heads=2,
        head_dim=HEAD_DIM,
        max_position_embeddings=POSITIONS,
        rope_parameters={"rope_type": "dynamic", "factor": FACTOR, "rope_theta": THETA},
    )
    rotary = LlamaRotaryEmbedding(config)
    for begin, count in WHOLE + CACHED:
        positions = torch.arange(begin, begin + count)[None]
        cos, sin = rotary(torch.zeros(1, count, HEAD_DIM), positions)
        yield {"begin": begin, "cos": cos[0].tolist(), "sin": sin[0].tolist()}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=str(Path(__file__).parent / "data"))
    path = Path(parser.parse_args().out) / "dynamic_rope.json"
    facts = {"head_dim": HEAD_DIM, "positions": POSITIONS, "factor": FACTOR, "theta": THETA}
    rf.report(path, rf.write_json(path, {**facts, "calls": list(calls())}))
