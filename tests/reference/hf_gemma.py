"""Reference files of transformers' Gemma classes (CPU, float32, eager attention, because sdpa has
no soft cap). Only text goes in, also where the model sees images.

    python tests/reference/hf_gemma.py --out tests/reference/data [--case NAME] [--list]

name=gemma; hf_decoder.py says what the files hold. Weights of norms lie about 0, since these norms
multiply by one more; caps are small and windows short, so that both matter.
"""

import hf_decoder as hf

LOCAL, GLOBAL = "sliding_attention", "full_attention"


def config(model_class, model_type, **changes):
    gemma = {
        "architectures": [model_class],
        "attention_bias": False,
        "head_dim": 8,
        "model_type": model_type,
        "num_key_value_heads": 2,
        "pad_token_id": 0,
        "tie_word_embeddings": True,
        "use_bidirectional_attention": None,
    }
    return dict(sorted({**hf.config(), **gemma, **changes}.items()))


def gemma1(**changes):
    act = {"hidden_act": "gelu_pytorch_tanh"}
    return config("GemmaForCausalLM", "gemma", **{**act, **changes})


def gemma1_file():
    """As the first published files spell it: gelu, which means its tanh approximation."""
    old = hf.in_version_4(gemma1(hidden_act="gelu", num_key_value_heads=1, head_dim=10), "4.38.0")
    old["hidden_activation"] = None
    return hf.without(["use_bidirectional_attention", "tie_word_embeddings"], old)


def gemma2(**changes):
    facts = {
        "attn_logit_softcapping": 1.5,
        "final_logit_softcapping": 2.0,
        "hidden_activation": "gelu_pytorch_tanh",
        "layer_types": [LOCAL, GLOBAL, LOCAL],
        "num_hidden_layers": 3,
        "query_pre_attn_scalar": 10,
        "sliding_window": 6,
    }
    return config("Gemma2ForCausalLM", "gemma2", **{**facts, **changes})


def gemma2_file():
    old = hf.in_version_4(gemma2(), "4.42.0")
    old.update(cache_implementation="hybrid", hidden_act="gelu_pytorch_tanh")
    return hf.without(["use_bidirectional_attention", "tie_word_embeddings", "layer_types"], old)


def gemma3(**changes):
    facts = {
        "attn_logit_softcapping": None,
        "final_logit_softcapping": None,
        "hidden_activation": "gelu_pytorch_tanh",
        "layer_types": [LOCAL, LOCAL, GLOBAL, LOCAL],
        "num_hidden_layers": 4,
        "query_pre_attn_scalar": 10,
        "rope_parameters": {
            GLOBAL: {"rope_theta": 1000000.0, "rope_type": "linear", "factor": 8.0},
            LOCAL: {"rope_theta": 10000.0, "rope_type": "default"},
        },
        "sliding_window": 5,
        "use_bidirectional_attention": False,
    }
    return config("Gemma3ForCausalLM", "gemma3_text", **{**facts, **changes})


def gemma3_file():
    """In the spelling of transformers 4, with a local base of its own and every third layer
    global."""
    new = gemma3(rope_parameters={"rope_theta": 50000.0, "rope_type": "default"})
    old = hf.in_version_4(new, "4.50.0")
    old.update(rope_local_base_freq=300.0, sliding_window_pattern=3, cache_implementation="hybrid")
    return hf.without(["layer_types", "use_bidirectional_attention"], old)


VISION = {
    "hidden_size": 8,
    "image_size": 4,
    "intermediate_size": 8,
    "model_type": "siglip_vision_model",
    "num_attention_heads": 1,
    "num_hidden_layers": 1,
    "patch_size": 2,
}


def with_images(text, **changes):
    """A model that also sees, whose language model is `text`."""
    outer = {
        "architectures": ["Gemma3ForConditionalGeneration"],
        "boi_token_index": 60,
        "eoi_token_index": 61,
        "image_token_index": 62,
        "initializer_range": 0.02,
        "mm_tokens_per_image": 4,
        "model_type": "gemma3",
        "text_config": hf.without(["architectures", "transformers_version"], text),
        "vision_config": VISION,
    }
    return {**outer, **changes}


def gemma3_with_images_file():
    """As the published files of 4B and above spell it: much is left to the classes' defaults."""
    text = hf.without(
        ["attention_bias", "attention_dropout", "attn_logit_softcapping", "bos_token_id", "dtype",
         "eos_token_id", "final_logit_softcapping", "hidden_activation", "initializer_range",
         "layer_types", "pad_token_id", "rms_norm_eps", "tie_word_embeddings",
         "use_bidirectional_attention", "use_cache"],
        gemma3(num_hidden_layers=6, hidden_size=16, intermediate_size=24),
    )  # fmt: skip
    text["rope_scaling"] = {"factor": 8.0, "rope_type": "linear"}
    del text["rope_parameters"]
    return with_images(text, torch_dtype="float32", transformers_version="4.50.0.dev0")


def as_saved(name):
    """Names in files of Gemma3ForConditionalGeneration, which in memory begin with "model."."""
    name = name.replace("model.language_model.", "language_model.model.")
    return name.removeprefix("model.")


CASES = {
    "1": ("gemma", gemma1(), 41),
    "1_transformers4": ("gemma", gemma1_file(), 42),
    "2": ("gemma", gemma2(), 43),
    "2_transformers4": ("gemma", gemma2_file(), 54),
    "2_untied_bias": (
        "gemma",
        gemma2(tie_word_embeddings=False, attention_bias=True, final_logit_softcapping=6.0),
        45,
    ),
    "3": ("gemma", gemma3(), 56),
    "3_transformers4": ("gemma", gemma3_file(), 47),
    "3_with_images": (
        "gemma",
        with_images(gemma3(), tie_word_embeddings=True, dtype="float32"),
        57,
        as_saved,
    ),
    "3_with_images_transformers4": ("gemma", gemma3_with_images_file(), 159),
    "3_cap_no_pad": ("gemma", gemma3(final_logit_softcapping=2.0, pad_token_id=None), 148),
}

if __name__ == "__main__":
    hf.main("gemma", CASES, __doc__, attention="eager", scale_mean=0.0)
