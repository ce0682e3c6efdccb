"""More cases of nemo_duplex.py: Gemma and Qwen."""

from nemo_duplex_cases import BOS, EOS, PAD, case, encoder, llm_config, options

# The other families of language models, by transformers' model_type: sizes of a head that differ
# from width / heads, one key/value head, a window, soft capping, and what each adds to a layer. One
# encoder layer and one codebook: the file is about the language model.
SMALL = {
    "enc": encoder(conv_norm_type="layer_norm", subsampling_conv_channels=4),
    "codec": {"num_codebooks": 1, "codebook_size": 24},
}


def family_config(model_type, architecture, **changes):
    config = llm_config(
        model_type=model_type, architectures=[architecture], num_key_value_heads=1, **changes
    )
    for key in ("mlp_bias", "pad_token_id"):
        del config[key]
    return config


def gemma_config(model_type, architecture, **changes):
    config = family_config(
        model_type,
        architecture,
        hidden_activation="gelu_pytorch_tanh",
        pad_token_id=PAD,
        query_pre_attn_scalar=16,
        rms_norm_eps=1e-6,
        sliding_window=5,
        tie_word_embeddings=True,
        **changes,
    )
    del config["hidden_act"]
    return {**config, "pad_token_id": PAD}


case(
    "gemma2",
    options(
        llm=gemma_config(
            "gemma2",
            "Gemma2ForCausalLM",
            attn_logit_softcapping=50.0,
            final_logit_softcapping=30.0,
            layer_types=["sliding_attention", "full_attention"],
        ),
        **SMALL,
    ),
    seed=641,
)
case(
    "gemma3",
    options(
        llm=gemma_config(
            "gemma3_text",
            "Gemma3ForCausalLM",
            attn_logit_softcapping=None,
            final_logit_softcapping=None,
            layer_types=["sliding_attention", "full_attention"],
            rope_parameters={
                "full_attention": {"rope_theta": 1000000.0, "rope_type": "default"},
                "sliding_attention": {"rope_theta": 10000.0, "rope_type": "default"},
            },
        ),
        **SMALL,
    ),
    seed=44,
)
case(
    "qwen2",
    options(
        llm=family_config("qwen2", "Qwen2ForCausalLM", tie_word_embeddings=True),
        tokens={"bos": BOS, "eos": EOS, "pad": 3},  # transformers' Qwen2Tokenizer wants one
        **SMALL,
    ),
    seed=133,
)
case(
    "qwen3",
    options(llm=family_config("qwen3", "Qwen3ForCausalLM", head_dim=16), **SMALL),
    seed=34,
)
