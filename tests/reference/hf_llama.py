"""Reference files of transformers' LlamaForCausalLM (CPU, float32, sdpa attention).

    python tests/reference/hf_llama.py --out tests/reference/data [--case NAME] [--list]

name=llama or tinyllama; hf_decoder.py says what the files hold.
"""

import hf_decoder as hf

LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}


def config(**changes):
    llama = {
        "architectures": ["LlamaForCausalLM"],
        "attention_bias": False,
        "head_dim": 6,
        "hidden_act": "silu",
        "mlp_bias": False,
        "model_type": "llama",
        "pretraining_tp": 1,
    }
    return dict(sorted({**hf.config(), **llama, **changes}.items()))


def config_4(**changes):
    return hf.in_version_4(hf.without(["pad_token_id"], config(**changes)))


def tinyllama_config():
    """As TinyLlama's own file spells it: no head_dim, no mlp_bias, grouped queries."""
    sizes = {"num_key_value_heads": 1, "hidden_size": 32, "intermediate_size": 44}
    old = hf.without(
        ["head_dim", "mlp_bias", "attention_dropout"], config_4(vocab_size=56, **sizes)
    )
    old["transformers_version"] = "4.35.0"
    return old


def scaled(rope_type, **keys):
    """Stretched rotary frequencies of a model for eight positions; the files are longer."""
    rope = {"rope_theta": 10000.0, "rope_type": rope_type, **keys}
    sizes = {"num_key_value_heads": 2, "max_position_embeddings": 8, "head_dim": 8}
    return config(rope_parameters=rope, **sizes)


ROPE = {"rope_theta": 500000.0, **LLAMA3}
YARN = {"factor": 4.0, "original_max_position_embeddings": 8}
CASES = {
    "plain": ("llama", config(), 21),
    "gqa_head_dim": ("llama", config(num_key_value_heads=2, head_dim=8), 22),
    "tied_pad_token": ("llama", config(tie_word_embeddings=True, pad_token_id=0), 23),
    "bias": ("llama", config(attention_bias=True, mlp_bias=True, num_key_value_heads=1), 24),
    "rope_llama3": ("llama", config(rope_parameters=ROPE, num_key_value_heads=2), 25),
    "rope_llama3_transformers4": (
        "llama",
        config_4(rope_parameters=ROPE, num_key_value_heads=2),
        25,
    ),
    "tinyllama": ("tinyllama", tinyllama_config(), 27),
    "rope_linear": ("llama", scaled("linear", factor=4.0), 28),
    "rope_dynamic": ("llama", scaled("dynamic", factor=4.0), 29),
    "rope_yarn": ("llama", scaled("yarn", **YARN), 30),
    "rope_yarn_options": (
        "llama",
        scaled("yarn", beta_fast=2.0, beta_slow=0.25, mscale=0.9, mscale_all_dim=0.5,
               truncate=False, **YARN),
        31,
    ),
}

if __name__ == "__main__":
    hf.main("llama", CASES, __doc__)
