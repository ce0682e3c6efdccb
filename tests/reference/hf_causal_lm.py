"""Reference files of language models that train on text in transformers (CPU, float32).

    python tests/reference/hf_causal_lm.py --out tests/reference/data [--case NAME] [--list]

kind=model, name=causal_lm; options = {"llm_config": config.json, "model": {"optimizer": AdamW},
"trainer": {"gradient_clip_val"}}. Weights, gradients and weights after steps carry the state dict's
names.

  input/ids, labels [B,T]   labels[t] is the token of column t, or -100; transformers shifts them.
  input/documents [N,3]     row, first column and length of each document. A case packs several into
                            a row; transformers runs each alone, without padding, so that nothing
                            can leak between them.
  input/prompts [P,L]       prompts of different lengths, -1 behind; input/end [E] ids that end an
                            answer; input/new [N] only its size counts: the most new tokens.
  output/loss               sum of the cross entropies / number of labels, over all documents.
  output/losses             of three steps of AdamW with clipping.
  grad/*, after/3/*         of that loss; after the three steps (one file of the family).
  output/tokens, beams      [P,N] new tokens (-1 behind) by greedy decoding and by beam search with
                            three beams; each prompt alone.
"""

import copy
import json
from pathlib import Path

import torch

import hf_decoder as hf
import hf_gemma
import hf_llama
import hf_qwen
import reference_file as rf

RTOL, ATOL = 1e-4, 1e-5
NEW, BEAMS = 12, 3
ADAMW = {"lr": 1e-3, "betas": [0.9, 0.98], "eps": 1e-3, "weight_decay": 0.01}
CLIP = 1.0

# family, case of the family's script, packed, seed
CASES = {
    "llama_packed": (hf_llama, "plain", True, 11),
    "llama_padded": (hf_llama, "plain", False, 12),
    "gemma2_packed": (hf_gemma, "2", True, 13),
    "gemma3_packed": (hf_gemma, "3", True, 14),
    "qwen2_padded": (hf_qwen, "2_5_window", False, 15),
    "qwen3_packed": (hf_qwen, "3_bias_window", True, 16),
}


def documents_of(packed):
    """(row, begin, length) of documents in rows of 20 columns."""
    if packed:
        return [(0, 0, 7), (0, 7, 9), (0, 16, 3), (1, 0, 14), (1, 14, 6), (2, 0, 12)]
    return [(0, 0, 20), (1, 0, 13), (2, 0, 5)]


def make_inputs(vocab_size, packed, seed):
    generator = torch.Generator().manual_seed(seed)
    ids = torch.zeros(3, 20, dtype=torch.long)
    labels = torch.full((3, 20), -100)
    spans = documents_of(packed)
    for row, begin, length in spans:
        part = torch.randint(3, vocab_size, (length,), generator=generator)
        ids[row, begin : begin + length] = part
        answer = torch.randint(1, length, (1,), generator=generator).item()
        labels[row, begin + answer : begin + length] = part[answer:]
    prompts = torch.full((3, 6), -1)
    for row, length in enumerate((4, 6, 2)):
        prompts[row, :length] = torch.randint(3, vocab_size, (length,), generator=generator)
    return {
        "ids": ids,
        "labels": labels,
        "documents": torch.tensor(spans),
        "prompts": prompts,
        "end": torch.tensor([2]),
        "new": torch.zeros(NEW, dtype=torch.long),
    }


def loss_of(model, inputs):
    total, count = 0.0, 0
    for row, begin, length in inputs["documents"].tolist():
        ids = inputs["ids"][row : row + 1, begin : begin + length]
        labels = inputs["labels"][row : row + 1, begin : begin + length]
        # num_items_in_batch: the sum of the cross entropies, undivided.
        total = total + model(input_ids=ids, labels=labels, num_items_in_batch=1).loss
        count += (labels[:, 1:] != -100).sum().item()
    return total / count


def train(model, inputs):
    """Loss and gradients of the first step, losses of three, weights after them."""
    optimizer = torch.optim.AdamW(model.parameters(), **ADAMW)
    tensors, losses = {}, []
    for step in range(3):
        optimizer.zero_grad()
        loss = loss_of(model, inputs)
        loss.backward()
        losses.append(loss.detach())
        if step == 0:
            tensors["output/loss"] = loss.detach()
            for name, parameter in rf.unique_parameters(model).items():
                tensors[f"grad/{name}"] = parameter.grad.detach().clone()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
    tensors["output/losses"] = torch.stack(losses)
    for name, tensor in rf.weights_of(model).items():
        tensors[f"after/3/{name}"] = tensor
    return tensors


@torch.no_grad()
def decode(model, inputs, num_beams):
    rows = torch.full((len(inputs["prompts"]), NEW), -1)
    for row, prompt in enumerate(inputs["prompts"]):
        prompt = prompt[prompt >= 0][None]
        out = model.generate(
            input_ids=prompt,
            attention_mask=torch.ones_like(prompt),
            do_sample=False,
            num_beams=num_beams,
            max_new_tokens=NEW,
            eos_token_id=inputs["end"].tolist(),
            pad_token_id=0,
        )
        new = out[0, prompt.shape[1] :]
        ended = (new == inputs["end"]).nonzero()
        if len(ended) > 0:
            new = new[: ended[0, 0] + 1]
        rows[row, : len(new)] = new
    return rows


def with_frequent_end(model, seed):
    """Answers that end: the end's row of the head gets a push in directions that occur."""
    generator = torch.Generator().manual_seed(seed + 7)
    head = model.get_output_embeddings().weight
    with torch.no_grad():
        head[2].mul_(1.0).add_(0.6 * torch.randn(head.shape[1], generator=generator))


def make(name, out):
    family, case, packed, seed = CASES[name]
    config = family.CASES[case][1]
    scale_mean = 0.0 if family is hf_gemma else 1.0
    attention = "eager" if family is hf_gemma else "sdpa"
    model = hf.build(config, seed, attention, scale_mean)
    with_frequent_end(model, seed)
    inputs = make_inputs(model.config.vocab_size, packed, seed)
    weights = rf.weights_of(model)
    twin = copy.deepcopy(model)
    rf.nudge(twin, seed)
    decoded = {
        "output/tokens": decode(model, inputs, 1),
        "output/beams": decode(model, inputs, BEAMS),
    }
    assert torch.equal(decoded["output/tokens"], decode(twin, inputs, 1)), "greedy is not stable"
    assert torch.equal(decoded["output/beams"], decode(twin, inputs, BEAMS)), "beams are not stable"
    tensors, twins = train(model, inputs), train(twin, inputs)
    noise = max(rf.noise_ratio(tensors, twins, RTOL, ATOL).values())
    assert noise < 0.5, f"{name}: noise {noise}"
    tensors.update(decoded)
    tensors.update({f"weights/{k}": v for k, v in weights.items()})
    tensors.update({f"input/{k}": v for k, v in inputs.items()})
    options = {
        "llm_config": config,
        "model": {"optimizer": {"_target_": "torch.optim.AdamW", **ADAMW}},
        "trainer": {"gradient_clip_val": CLIP},
    }
    path = Path(out) / f"hf_causal_lm_{name}.safetensors"
    size = rf.write_small(path, "model", "causal_lm", json.dumps(options), tensors, RTOL, ATOL)
    differ = (decoded["output/tokens"] != decoded["output/beams"]).any().item()
    ends = (decoded["output/tokens"] == 2).any(1).sum().item()
    rf.report(path, size, noise=noise, differ=differ, ends=ends, loss=tensors["output/loss"].item())


if __name__ == "__main__":
    rf.run_cases(__doc__, CASES, make)
