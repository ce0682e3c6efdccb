"""Reference files of transformers' Qwen2ForCausalLM and Qwen3ForCausalLM (CPU, float32, sdpa
attention).

    python tests/reference/hf_qwen.py --out tests/reference/data [--case NAME] [--list]

name=qwen; hf_decoder.py says what the files hold. Windows are shorter than the texts.
"""

import hf_decoder as hf

LOCAL, GLOBAL = "sliding_attention", "full_attention"


def config(model_class, model_type, **changes):
    qwen = {
        "architectures": [model_class],
        "hidden_act": "silu",
        "layer_types": [GLOBAL, GLOBAL],
        "max_window_layers": 28,
        "model_type": model_type,
        "num_key_value_heads": 2,
        "rope_parameters": {"rope_theta": 1000000.0, "rope_type": "default"},
        "sliding_window": None,
        "use_sliding_window": False,
    }
    return dict(sorted({**hf.config(), **qwen, **changes}.items()))


def qwen2(**changes):
    return config("Qwen2ForCausalLM", "qwen2", **changes)


def qwen3(**changes):
    facts = {"attention_bias": False, "head_dim": 8, "tie_word_embeddings": True}
    return config("Qwen3ForCausalLM", "qwen3", **{**facts, **changes})


def in_version_4(new, **changes):
    old = hf.without(["layer_types", "pad_token_id"], hf.in_version_4(new, "4.46.0"))
    return {**old, **changes}


WINDOW = {
    "layer_types": [GLOBAL, LOCAL, LOCAL],
    "max_window_layers": 1,
    "num_hidden_layers": 3,
    "sliding_window": 6,
    "use_sliding_window": True,
}
YARN = {
    "rope_theta": 1000000.0,
    "rope_type": "yarn",
    "factor": 4.0,
    "original_max_position_embeddings": 8,
}
CASES = {
    "2": ("qwen", qwen2(tie_word_embeddings=True), 61),
    "2_transformers4": (
        "qwen",
        in_version_4(qwen2(), sliding_window=32768, max_window_layers=21, use_mrope=False),
        62,
    ),
    "2_5_window": ("qwen", qwen2(**WINDOW), 173),
    "2_5_window_yarn_transformers4": (
        "qwen",
        in_version_4(qwen2(rope_parameters=YARN, max_position_embeddings=32, **WINDOW)),
        74,
    ),
    "3": ("qwen", qwen3(), 65),
    "3_bias_window": (
        "qwen",
        in_version_4(
            qwen3(attention_bias=True, tie_word_embeddings=False, head_dim=10, **WINDOW)
        ),
        166,
    ),
}

if __name__ == "__main__":
    hf.main("qwen", CASES, __doc__)
