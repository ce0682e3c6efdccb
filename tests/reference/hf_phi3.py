"""Reference files of transformers' Phi3ForCausalLM (CPU, float32, sdpa attention).

    python tests/reference/hf_phi3.py --out tests/reference/data [--case NAME] [--list]

name=phi3; hf_decoder.py says what the files hold. The window is shorter than the texts. weights/*
have the joined tensors of Phi-3's files. grad/* have their rows as parameters of their own.
"""

import hf_decoder as hf

HEADS, KV_HEADS, HEAD_DIM = 4, 2, 6


def config(**changes):
    phi3 = {
        "architectures": ["Phi3ForCausalLM"],
        "embd_pdrop": 0.0,
        "hidden_act": "silu",
        "model_type": "phi3",
        "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS,
        "original_max_position_embeddings": 128,
        "resid_pdrop": 0.0,
        "sliding_window": 5,
    }
    return dict(sorted({**hf.config(), **phi3, **changes}.items()))


def longrope(original, **changes):
    """Long contexts: the short factors up to `original` positions, the long ones beyond."""
    rope = {
        "long_factor": [1.1, 2.5, 7.0],
        "rope_theta": 10000.0,
        "rope_type": "longrope",
        "short_factor": [1.0, 1.05, 1.2],
        **changes,
    }
    return config(rope_parameters=rope, original_max_position_embeddings=original)


def parts(name, tensor):
    """The parameters whose rows a joined tensor holds, in the order of modeling_phi3.py."""
    query, key = HEADS * HEAD_DIM, KV_HEADS * HEAD_DIM
    if "qkv_proj" in name:
        rows = tensor.split([query, key, key])
        return {name.replace("qkv", part): one for part, one in zip("qkv", rows, strict=True)}
    if "gate_up_proj" in name:
        rows = tensor.chunk(2)
        names = [name.replace("gate_up", part) for part in ("gate", "up")]
        return dict(zip(names, rows, strict=True))
    return {name: tensor}


def run(model, inputs, joined=hf.run):
    tensors = {}
    for name, tensor in joined(model, inputs).items():
        tensors.update({k: v.contiguous() for k, v in parts(name, tensor).items()})
    return tensors


hf.run = run
OLD = hf.without(["pad_token_id"], hf.in_version_4(config(sliding_window=None)))
CASES = {
    "window": ("phi3", config(), 91),
    "transformers4": ("phi3", {**OLD, "pad_token_id": 3}, 92),
    # All texts are within the original length, or all are longer: the prompt has 5 tokens.
    "longrope_short": ("phi3", longrope(64), 93),
    "longrope_long": ("phi3", longrope(4), 194),
    "longrope_factor": ("phi3", longrope(4, factor=3.0, attention_factor=1.25), 95),
}

if __name__ == "__main__":
    hf.main("phi3", CASES, __doc__)
