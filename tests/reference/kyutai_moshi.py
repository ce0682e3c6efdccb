"""A folder as Kyutai publishes Moshi, with random weights, and what its own class computes.

    NO_TORCH_COMPILE=1 python tests/reference/kyutai_moshi.py

Needs the package moshi (0.2.13). config.json has the arguments of the class, and model.safetensors
its weights as published files have them: in_proj_weight holds queries, keys and values of all
books. expected.safetensors:

  input/ids [B,T], moshi_codes, user_codes [B,K,T]   streams without delay
  output/logits [B,T,V]     of the text, for the frames of the streams
  output/text_loss          mean over frames; depth_loss: sum over the codes that the class
                            masks in / (B T K); loss is their sum
"""

import argparse
import json
from pathlib import Path

import torch
from moshi.models.lm import LMModel
from torch.nn.functional import cross_entropy

import reference_file as rf

BOOKS, FRAMES = 4, 9
ARGUMENTS = {
    "card": 16,
    "causal": True,
    "context": 64,
    "delays": [0, 0, 1, 1, 1, 0, 1, 1, 1],
    "dep_q": BOOKS,
    "depformer_context": 8,
    "depformer_dim": 16,
    "depformer_dim_feedforward": 36,
    "depformer_gating": "silu",
    "depformer_layer_scale": None,
    "depformer_max_period": 10000,
    "depformer_multi_linear": True,
    "depformer_num_heads": 4,
    "depformer_num_layers": 2,
    "depformer_pos_emb": "none",
    "depformer_weights_per_step": True,
    "dim": 24,
    "existing_text_padding_id": 3,
    "gating": "silu",
    "hidden_scale": 3.25,
    "layer_scale": None,
    "max_period": 10000,
    "n_q": 2 * BOOKS,
    "norm": "rms_norm_f32",
    "num_heads": 4,
    "num_layers": 2,
    "positional_embedding": "rope",
    "text_card": 40,
}


def published(state: dict) -> dict:
    """Lists of matrices of the attention become one, as in published files."""
    weights, lists = {}, {}
    for name, tensor in state.items():
        for kind, joined in (("in_projs", "in_proj_weight"), ("out_projs", "out_proj.weight")):
            before, found, _ = name.partition(f"self_attn.{kind}.")
            if found:
                lists.setdefault(f"{before}self_attn.{joined}", []).append(tensor)
                break
        else:
            weights[name] = tensor
    weights.update({name: torch.cat(parts) for name, parts in lists.items()})
    return weights


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=str(Path(__file__).parent / "data" / "kyutai_moshi"))
    out = Path(parser.parse_args().out)
    torch.manual_seed(61)
    model = LMModel(**ARGUMENTS).eval()
    for name, parameter in model.named_parameters():
        if name.endswith("alpha"):
            parameter.data.copy_(1.0 + 0.2 * torch.randn(parameter.shape))
        elif "emb" in name:
            parameter.data.copy_(0.5 * torch.randn(parameter.shape))
        else:
            gain = 2.0 if name.startswith(("linears", "text_linear")) else 1.0
            parameter.data.copy_(gain * torch.randn(parameter.shape) / parameter.shape[-1] ** 0.5)
    ids = torch.randint(40, (2, FRAMES))
    own, user = torch.randint(16, (2, 2, BOOKS, FRAMES))
    codes = torch.cat([ids[:, None], own, user], dim=1)
    with torch.no_grad():
        output = model(codes)
        text_loss = cross_entropy(output.text_logits[:, 0].flatten(0, 1), ids.flatten())
        chosen = output.mask
        depth_loss = cross_entropy(output.logits[chosen], own[chosen], reduction="sum")
        depth_loss = depth_loss / own.numel()
    tensors = {
        "input/ids": ids,
        "input/moshi_codes": own,
        "input/user_codes": user,
        "output/logits": output.text_logits[:, 0],
        "output/text_loss": text_loss,
        "output/depth_loss": depth_loss,
        "output/loss": text_loss + depth_loss,
    }
    (out / "config.json").parent.mkdir(parents=True, exist_ok=True)
    (out / "config.json").write_text(json.dumps(ARGUMENTS, indent=1) + "\n")
    size = rf.write_safetensors(out / "model.safetensors", published(model.state_dict()), {})
    rf.write_safetensors(out / "expected.safetensors", tensors, {})
    rf.report(out, size, loss=(text_loss + depth_loss).item(), depth=depth_loss.item())


if __name__ == "__main__":
    main()
