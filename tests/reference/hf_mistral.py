"""Reference files of transformers' MistralForCausalLM (CPU, float32, sdpa attention).

    python tests/reference/hf_mistral.py --out tests/reference/data [--case NAME] [--list]

name=mistral; hf_decoder.py says what the files hold. The window is shorter than the texts.
"""

import hf_decoder as hf


def config(**changes):
    mistral = {
        "architectures": ["MistralForCausalLM"],
        "head_dim": 6,
        "hidden_act": "silu",
        "model_type": "mistral",
        "num_key_value_heads": 2,
        "sliding_window": None,
    }
    return dict(sorted({**hf.config(), **mistral, **changes}.items()))


def version_1():
    """As the file of version 0.1 spells it: no head_dim, rope_theta at the top."""
    return hf.without(["pad_token_id", "head_dim"], hf.in_version_4(config(sliding_window=5)))


V3 = {"rope_parameters": {"rope_theta": 1000000.0, "rope_type": "default"}, "head_dim": 8}
CASES = {
    "1_window": ("mistral", version_1(), 181),
    "3": ("mistral", config(**V3), 82),
}

if __name__ == "__main__":
    hf.main("mistral", CASES, __doc__)
