"""Golden vectors of transformers' logits processors: data/sampling.json.

    python tests/reference/sampling.py --out tests/reference/data

Each case: options, logits [B][V], so_far [B][T], scores [B][V] with null for minus infinity. The
processors run in the order in which transformers' generate applies them.
"""

import argparse
from pathlib import Path

import torch
from transformers import (
    LogitsProcessorList,
    NoRepeatNGramLogitsProcessor,
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

import reference_file as rf

MAKERS = {
    "repetition_penalty": RepetitionPenaltyLogitsProcessor,
    "no_repeat_ngram_size": NoRepeatNGramLogitsProcessor,
    "temperature": TemperatureLogitsWarper,
    "top_k": TopKLogitsWarper,
    "top_p": TopPLogitsWarper,
}
CASES = [
    {"temperature": 1.0},
    {"temperature": 0.3},
    {"temperature": 1.7, "top_k": 5},
    {"temperature": 1.0, "top_k": 1000},
    {"temperature": 1.0, "top_p": 0.6},
    {"temperature": 0.8, "top_p": 0.05},
    {"repetition_penalty": 1.3},
    {"no_repeat_ngram_size": 2},
    {"no_repeat_ngram_size": 3},
    {"no_repeat_ngram_size": 1},
    {
        "temperature": 0.7,
        "top_k": 8,
        "top_p": 0.9,
        "repetition_penalty": 1.2,
        "no_repeat_ngram_size": 2,
    },
]


def make(index, options) -> dict:
    generator = torch.Generator().manual_seed(index)
    logits = 3 * torch.randn(3, 23, generator=generator)
    # Few different tokens, so that they come again.
    so_far = torch.randint(4, (3, 17), generator=generator)
    processors = LogitsProcessorList(MAKERS[k](options[k]) for k in MAKERS if k in options)
    scores = processors(so_far, logits.clone())
    rows = [[None if v == -float("inf") else v for v in row] for row in scores.tolist()]
    return {
        "options": options,
        "logits": logits.tolist(),
        "so_far": so_far.tolist(),
        "scores": rows,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=str(Path(__file__).parent / "data"))
    path = Path(parser.parse_args().out) / "sampling.json"
    rf.report(path, rf.write_json(path, [make(i, o) for i, o in enumerate(CASES)]))


if __name__ == "__main__":
    main()
