"""The cases of nemo_eartts.py: blocks of RVQEARTTSModel (NeMo's `tts_config`) and their inputs."""

WORD, FOREIGN = "\u2581", "\u015d"  # the mark of a word's start; a character that is no token
PIECES = (
    ["<unk>", "<s>", "</s>", "<pad>"]
    + list("abcdefghij")
    + [WORD + word for word in ("the", "cab", "bead", "head", "", "a", "hide", "face")]
    + ["ing", "fig", "jab", FOREIGN + FOREIGN, "gef", "dig"]
)

ADAMW = {"_target_": "torch.optim.AdamW", "lr": 2e-3, "betas": [0.9, 0.98], "eps": 1e-4,
         "weight_decay": 0.1}

GEMMA3 = {
    "hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 1, "head_dim": 12, "attention_dropout": 0.0, "use_cache": False,
    "sliding_window": 4096,
}
T5GEMMA = {
    "is_encoder_decoder": False,
    "encoder": {
        "hidden_size": 24, "intermediate_size": 32, "num_hidden_layers": 2,
        "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8,
        "query_pre_attn_scalar": 6, "attn_logit_softcapping": 1.5, "vocab_size": 4,
    },
}
MOG = {"intermediate_size": 32, "num_layers": 2, "low_rank": 4, "num_predictions": 6,
       "min_log_std": -0.4, "eps": 1e-6}

SMALL_T5GEMMA = {**T5GEMMA, "encoder": {**T5GEMMA["encoder"], "hidden_size": 16}}

FULL = {
    "backbone_type": "gemma3_text", "backbone_config": GEMMA3, "latent_size": 16,
    "codebook_size": 12, "num_quantizers": 5, "context_hidden_size": None,
    "cas_config": {"backbone_type": "t5gemma", "backbone_config": T5GEMMA},
    "use_subword_flag_emb": True, "use_bos_eos_emb": True, "use_gated_fusion_for_text_audio": True,
    "disable_eos_prediction": True, "random_target_masking": False, "mog_head_config": MOG,
    "p_uncond": 0.4, "label_smoothing": 0.05, "max_training_rate": 0.8, "quantizer_dropout": 0.5,
    "exponent": 3.0, "optimizer": ADAMW,
}

QWEN3 = {
    "hidden_size": 24, "intermediate_size": 40, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 512, "use_cache": False,
}

CASES = {
    # The published recipe's parts.
    "gated_subwords": {"options": FULL, "lengths": [15, 11, 8], "prompts": [5, 4, 3], "seed": 63},
    # A context from a language model, the sum without a gate, targets of random depth, an end
    # classifier, means of full rank.
    "context_end_targets": {
        "options": {
            **FULL, "backbone_type": "qwen3", "backbone_config": QWEN3, "context_hidden_size": 10,
            "cas_config": None, "use_gated_fusion_for_text_audio": False,
            "disable_eos_prediction": False, "random_target_masking": True,
            "mog_head_config": {**MOG, "low_rank": None, "num_layers": 1},
        },
        "lengths": [12, 9], "audio_ends": [10, 8], "prompts": [4, 3], "seed": 52,
    },
    # Both conditions, the frozen projection of the audio prompt, no flag embeddings.
    "frozen_prompt": {
        "options": {
            **FULL, "context_hidden_size": 10, "use_audio_prompt_frozen_projection": True,
            "use_subword_flag_emb": False, "use_bos_eos_emb": False, "p_uncond": 0.0,
            "cas_config": {"backbone_type": "t5gemma", "backbone_config": SMALL_T5GEMMA},
            "quantizer_dropout": 0.0,
        },
        "lengths": [13, 10], "prompts": [5, 5], "seed": 171,
    },
}
