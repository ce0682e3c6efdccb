"""Golden vectors of NeMo's label preparation for duplex models (parts/label_prep.py).

    python tests/reference/nemo_label_prep.py --out tests/reference/data

nemo_label_prep.json.gz: each case has `options` (NeMo's keys; a key that is absent is not set),
`target_tokens`, `target_token_lens`, and with predict_user_text `source_tokens` (and
`source_token_lens`), the frames of the encoder, and the returned channels and lengths. Tokens are
random: PAD, BOS, EOS and words stand anywhere, so every collision occurs. `prompts` holds calls of
maybe_prepend_prompt_tokens. The encoder's frames are their own numbers, so that `source_encoded`
shows which frames are left; an embedding of prompt token i is -i - 1. `turn_taking` holds calls of
compute_turn_taking_metrics with NeMo's tolerance of 13 frames of 80 ms.

Where NeMo fails or changes the width (a delay of at least the width), there is no case.
"""

import argparse
import random
from pathlib import Path

import torch
from omegaconf import DictConfig

import reference_file as rf

NUM_CASES, NUM_PROMPTS, NUM_TURNS = 160, 24, 40


def channel(rng, rows, width, ids, density):
    bos, eos, pad = ids
    return [
        [rng.choice([bos, eos, 7, 8, 9]) if rng.random() < density else pad for _ in range(width)]
        for _ in range(rows)
    ]


def draw_options(rng, width) -> dict:
    options = {}
    shifts = ("advance_text_channel_by", "delay_text_channel_by")
    moves = ("delay_text_eos_by", "delay_text_bos_by")
    for key in shifts + moves:
        if rng.random() < 0.45:
            options[key] = rng.randrange(0, width if key in shifts else width + 3)
    if rng.random() < 0.5:
        options["predict_user_text"] = True
        if rng.random() < 0.6:
            options["delay_source_text_by"] = rng.randrange(0, 3)
    return options


def frames_of(rows, width) -> torch.Tensor:
    frames = torch.arange(width, dtype=torch.float32)
    return (frames + 100 * torch.arange(rows).unsqueeze(1)).unsqueeze(-1)


def label_case(seed, label_prep) -> dict:
    rng = random.Random(seed)
    ids = rng.choice([(1, 2, 0), (5, 6, 3)])
    rows, width = rng.randrange(1, 4), rng.randrange(4, 13)
    options = draw_options(rng, width)
    density = rng.choice([0.2, 0.5, 0.9])
    target = channel(rng, rows, width, ids, density)
    case = {
        "ids": list(ids),
        "options": options,
        "target_tokens": target,
        "target_token_lens": [rng.randrange(1, width + 3) for _ in range(rows)],
    }
    batch = {"target_token_lens": torch.tensor(case["target_token_lens"])}
    if options.get("predict_user_text"):
        source_width = max(4, width + rng.choice([0, 0, -1, 1, 3]))
        case["source_tokens"] = channel(rng, rows, source_width, ids, density)
        batch["source_tokens"] = torch.tensor(case["source_tokens"])
    result = label_prep.prepare_text_and_asr_labels(
        batch=batch,
        target_tokens=torch.tensor(target),
        source_encoded=frames_of(rows, width),
        cfg=DictConfig(options),
        text_bos_id=ids[0],
        text_eos_id=ids[1],
        text_pad_id=ids[2],
    )
    case["frames"] = width
    case["output"] = {
        k: v.squeeze(-1).long().tolist() if k == "source_encoded" else v.tolist()
        for k, v in result.items()
    }
    return case


def prompt_case(seed, label_prep) -> dict:
    rng = random.Random(seed)
    ids = rng.choice([(1, 2, 0), (5, 6, 3)])
    rows, width, frames = rng.randrange(1, 4), rng.randrange(4, 9), rng.randrange(4, 9)
    lens = [rng.randrange(0, 5) for _ in range(rows)]
    lens[rng.randrange(rows)] += 1  # the data set gives no prompts to a batch without any
    prompt = channel(rng, rows, max(lens), ids, 1.0)
    batch = {
        "prompt_tokens": torch.tensor(prompt),
        "prompt_token_lens": torch.tensor(lens),
        "target_tokens": torch.tensor(channel(rng, rows, width, ids, 0.5)),
        "target_token_lens": torch.tensor([rng.randrange(1, width + 1) for _ in range(rows)]),
    }
    if rng.random() < 0.6:
        batch["source_tokens"] = torch.tensor(channel(rng, rows, width, ids, 0.5))
        batch["source_token_lens"] = torch.tensor(
            [rng.randrange(1, width + 1) for _ in range(rows)]
        )
    encoded_lens = torch.tensor([rng.randrange(1, frames + 1) for _ in range(rows)])
    case = {k: v.tolist() for k, v in batch.items()}
    case.update(ids=list(ids), frames=frames, frame_lens=encoded_lens.tolist())
    encoded, lens_out, target = label_prep.maybe_prepend_prompt_tokens(
        batch, lambda t: (-t - 1).float().unsqueeze(-1), frames_of(rows, frames), encoded_lens,
        ids[2],
    )
    output = {"source_encoded": encoded.squeeze(-1).long(), "frame_lens": lens_out,
              "target_tokens": target, "target_token_lens": batch["target_token_lens"]}
    if "source_tokens" in batch:
        output["source_tokens"] = batch["source_tokens"]
    case["output"] = {k: v.tolist() for k, v in output.items()}
    return case


def turn_case(seed, turn_taking) -> dict:
    rng = random.Random(seed)
    rows, width = rng.randrange(1, 5), rng.randrange(20, 50)
    density = rng.choice([0.02, 0.06, 0.2])
    source = channel(rng, rows, width, (1, 2, 0), density)
    predicted = channel(rng, rows, width + rng.randrange(0, 2), (1, 2, 0), density)
    accuracy, latency = turn_taking.compute_turn_taking_metrics(
        torch.tensor(source), torch.tensor(predicted), eos_token_id=2, bos_token_id=1
    )
    return {"source": source, "predicted": predicted, "accuracy": accuracy, "latency_s": latency}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=str(Path(__file__).parent / "data"))
    args = parser.parse_args()
    from nemo.collections.speechlm2.parts import label_prep
    from nemo.collections.speechlm2.parts.metrics import turn_taking

    labels = [label_case(1000 + i, label_prep) for i in range(NUM_CASES)]
    prompts = [prompt_case(5000 + i, label_prep) for i in range(NUM_PROMPTS)]
    turns = [turn_case(7000 + i, turn_taking) for i in range(NUM_TURNS)]
    moved = sum(c["output"]["text_labels"] != [r[1:] for r in c["target_tokens"]] for c in labels)
    path = Path(args.out) / "nemo_label_prep.json.gz"
    size = rf.write_json(path, {"labels": labels, "prompts": prompts, "turn_taking": turns})
    rf.report(path, size, cases=len(labels), changed=moved, prompts=len(prompts))


if __name__ == "__main__":
    main()
