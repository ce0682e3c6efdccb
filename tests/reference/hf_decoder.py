"""Shared by hf_llama.py, hf_gemma.py and hf_qwen.py: reference files of a decoder in transformers.

kind=llm; options = the text of config.json. There is no dropout, so train and eval mode are the
same. weights/* and grad/* carry the state dict's names; lm_head.weight is absent where it is tied,
and its gradient is then part of model.embed_tokens.weight's.

  input/ids, mask, labels   [B,T]; padding on the right; labels are aligned (labels[t] belongs to
                            logits[t], nothing is shifted) and -100 where ignored.
  output/hidden, logits     after the last norm; padded positions are not to be compared. logits
                            with the family's final soft cap.
  output/loss               mean cross entropy over the labels that are not -100.
  grad/*                    of that loss. With pad_token_id in the config, torch's padding_idx gives
                            that id's embedding row no gradient from look-ups.
  metadata "bfloat16"       how far the model's own bfloat16 is from its float32, by tensor: root of
                            the mean square over numbers and draws. For draw d (1, 2, ...) every
                            weight is multiplied by 1 + NUDGE * noise, normal noise from seed d in
                            the order of the weights' names, so that all roundings fall differently.
  output/greedy             [1,N] new tokens after input/prompt [1,P], prompt not included; exactly
                            N, no stop at EOS.
"""

import copy
import json
import tempfile
from pathlib import Path

import torch
from transformers import AutoConfig, AutoModelForCausalLM, DynamicCache

import reference_file as rf

RTOL, ATOL = 1e-4, 2e-5
NUM_NEW = 16
DRAWS, NUDGE = 32, 2.0**-6


def config(**changes):
    """The keys that all families have, in the spelling of transformers 5."""
    base = {
        "attention_dropout": 0.0,
        "bos_token_id": 1,
        "dtype": "float32",
        "eos_token_id": 2,
        "hidden_size": 24,
        "initializer_range": 0.02,
        "intermediate_size": 40,
        "max_position_embeddings": 128,
        "num_attention_heads": 4,
        "num_hidden_layers": 2,
        "num_key_value_heads": 4,
        "pad_token_id": None,
        "rms_norm_eps": 1e-05,
        "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"},
        "tie_word_embeddings": False,
        "transformers_version": "5.23.0",
        "use_cache": True,
        "vocab_size": 64,
    }
    base.update(changes)
    return base


def in_version_4(new, version="4.46.0"):
    """The same in the spelling of transformers 4: rope_theta, rope_scaling, torch_dtype."""
    old = dict(new)
    rope = dict(old.pop("rope_parameters"))
    old["rope_theta"] = rope.pop("rope_theta")
    old["rope_scaling"] = None if rope["rope_type"] == "default" else rope
    old["torch_dtype"] = old.pop("dtype")
    old["transformers_version"] = version
    return old


def without(keys, source):
    return {key: value for key, value in source.items() if key not in keys}


def build(config_dict, seed, attention, scale_mean):
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / "config.json").write_text(json.dumps(config_dict))
        loaded = AutoConfig.from_pretrained(name)
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(loaded, attn_implementation=attention)
    rf.randomize(model, seed, scale_mean=scale_mean)
    return model.eval()


def make_inputs(vocab_size, seed) -> dict:
    """Three rows of 21, 14 and 6 real tokens; the text tokens include ids 0 to 2."""
    generator = torch.Generator().manual_seed(seed + 1000)
    lengths = torch.tensor([21, 14, 6])
    mask = torch.arange(21)[None] < lengths[:, None]
    ids = torch.randint(vocab_size, (3, 21), generator=generator)
    labels = torch.randint(vocab_size, (3, 21), generator=generator)
    ids[0, 3], ids[0, 9] = 0, 2
    labels[torch.rand(3, 21, generator=generator) < 0.15] = -100
    return {
        "ids": ids.masked_fill(~mask, 0),
        "mask": mask,
        "labels": labels.masked_fill(~mask, -100),
        "prompt": torch.randint(vocab_size, (1, 5), generator=generator),
    }


@torch.no_grad()
def greedy(model, prompt) -> tuple[torch.Tensor, float]:
    cache = DynamicCache(config=model.config)
    step, tokens, margins = prompt, [], []
    for _ in range(NUM_NEW):
        logits = model(input_ids=step, past_key_values=cache, use_cache=True).logits[:, -1]
        margins.append(rf.greedy_margin(logits))
        step = logits.argmax(-1, keepdim=True)
        tokens.append(step)
    return torch.cat(tokens, dim=1), min(margins)


def run(model, inputs) -> dict:
    """Outputs and gradients, padding 0. The loss is of float32 logits in any type."""
    model.zero_grad()
    output = model(
        input_ids=inputs["ids"], attention_mask=inputs["mask"], output_hidden_states=True
    )
    logits, hidden = output.logits, output.hidden_states[-1]
    labels = inputs["labels"].flatten()
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), labels)
    loss.backward()
    tensors = {"output/loss": loss.detach()}
    real = inputs["mask"][..., None]
    tensors["output/hidden"] = hidden.detach().masked_fill(~real, 0.0)
    tensors["output/logits"] = logits.detach().masked_fill(~real, 0.0)
    for name, parameter in rf.unique_parameters(model).items():
        if parameter.grad is not None:  # what sees images has none
            tensors[f"grad/{name}"] = parameter.grad.detach().clone()
    return tensors


def as_bfloat16(model):
    """A copy as from_pretrained(dtype=torch.bfloat16) makes it: rotary frequencies stay float32."""
    half = copy.deepcopy(model).to(torch.bfloat16)
    for buffer, wide in zip(half.buffers(), model.buffers(), strict=True):
        buffer.data = wide.data.clone()
    return half


def own_rounding(model, inputs, spell) -> dict:
    """The metadata "bfloat16"."""
    squares = {}
    for draw in range(1, DRAWS + 1):
        twin = copy.deepcopy(model)
        generator = torch.Generator().manual_seed(draw)
        parameters = {spell(n): p for n, p in rf.unique_parameters(twin).items()}
        for _, parameter in sorted(parameters.items()):
            noise = torch.randn(parameter.shape, generator=generator)
            parameter.data.mul_(1.0 + NUDGE * noise)
        exact, rounded = run(twin, inputs), run(as_bfloat16(twin), inputs)
        for name, tensor in exact.items():
            difference = rounded[name].double() - tensor.double()
            if name in ("output/hidden", "output/logits"):
                difference = difference[inputs["mask"]]
            squares[name] = squares.get(name, 0.0) + difference.square().mean().item()
    errors = {name: (total / DRAWS) ** 0.5 for name, total in squares.items()}
    return {"draws": DRAWS, "nudge": NUDGE, "errors": errors}


def make(family, name, case, how, out) -> None:
    """case: component, config, seed, and a function that renames weights as files spell them, where
    that is not as the model does. how: attention, scale_mean."""
    component, config_dict, seed, *rename = case
    spell = rename[0] if rename else str
    model = build(config_dict, seed, **how)
    inputs = make_inputs(model.config.get_text_config().vocab_size, seed)
    weights = rf.weights_of(model)
    twin = copy.deepcopy(model)
    rf.nudge(twin, seed)
    tensors, twins = run(model, inputs), run(twin, inputs)
    tensors["output/greedy"], margin = greedy(model, inputs["prompt"])
    twins["output/greedy"], _ = greedy(twin, inputs["prompt"])
    noise = max(rf.noise_ratio(tensors, twins, RTOL, ATOL).values())
    rounding = own_rounding(model, inputs, spell)

    def spelled(by_name):
        return {
            f"grad/{spell(k[5:])}" if k.startswith("grad/") else k: v for k, v in by_name.items()
        }

    rounding["errors"] = spelled(rounding["errors"])
    tensors = spelled(tensors)
    tensors.update({f"weights/{spell(k)}": v for k, v in weights.items()})
    tensors.update({f"input/{k}": v for k, v in inputs.items()})
    path = Path(out) / f"hf_{family}_{name}.safetensors"
    options = json.dumps(config_dict, indent=1)
    more = {"bfloat16": json.dumps(rounding, separators=(",", ":"))}
    size = rf.write_small(path, "llm", component, options, tensors, RTOL, ATOL, more)
    assert margin > 1e-3 and noise < 0.3, f"{name}: margin {margin}, noise {noise}"
    rf.report(path, size, margin=margin, noise=noise, loss=tensors["output/loss"].item())


def main(family, cases, doc, attention="sdpa", scale_mean=1.0) -> None:
    """cases: name -> what `make` takes. scale_mean: about what the weights of norms lie."""
    how = {"attention": attention, "scale_mean": scale_mean}
    rf.run_cases(doc, cases, lambda name, out: make(family, name, cases[name], how, out))
