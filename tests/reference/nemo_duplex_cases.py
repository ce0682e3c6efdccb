"""The cases of nemo_duplex.py: what each one is about is in its comment.

A case = options (as stored in the file), the lengths of the batch and the turns.
Turns are (start frame, text ids, end frame or None for a turn that is cut off): BOS at the start,
text after it, EOS at the end frame even where text stands there, as NeMo's data set does.
"""

from copy import deepcopy

WIDTH, VOCAB = 32, 96
BOS, EOS, PAD = 1, 2, 0


def llm_config(**changes):
    """config.json of a tiny Llama in the spelling of transformers 5."""
    config = {
        "architectures": ["LlamaForCausalLM"],
        "attention_bias": False,
        "attention_dropout": 0.0,
        "bos_token_id": BOS,
        "dtype": "float32",
        "eos_token_id": EOS,
        "head_dim": 8,
        "hidden_act": "silu",
        "hidden_size": WIDTH,
        "initializer_range": 0.02,
        "intermediate_size": 48,
        "max_position_embeddings": 256,
        "mlp_bias": False,
        "model_type": "llama",
        "num_attention_heads": 4,
        "num_hidden_layers": 2,
        "num_key_value_heads": 4,
        "pad_token_id": None,
        "rms_norm_eps": 1e-05,
        "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"},
        "tie_word_embeddings": False,
        "use_cache": True,
        "vocab_size": VOCAB,
    }
    config.update(changes)
    return config


def preprocessor(**changes):
    config = {
        "_target_": "nemo.collections.asr.modules.AudioToMelSpectrogramPreprocessor",
        "sample_rate": 16000,
        "normalize": "per_feature",
        "window_size": 0.025,
        "window_stride": 0.01,
        "window": "hann",
        "features": 32,
        "n_fft": 512,
        "log": True,
        "frame_splicing": 1,
        "dither": 0.0,
        "pad_to": 0,
        "pad_value": 0.0,
    }
    config.update(changes)
    return config


def encoder(**changes):
    """A full-context FastConformer."""
    config = {
        "_target_": "nemo.collections.asr.modules.ConformerEncoder",
        "feat_in": 32,
        "feat_out": -1,
        "n_layers": 1,
        "d_model": 16,
        "subsampling": "dw_striding",
        "subsampling_factor": 8,
        "subsampling_conv_channels": 12,
        "causal_downsampling": False,
        "ff_expansion_factor": 2,
        "self_attention_model": "rel_pos",
        "n_heads": 4,
        "att_context_size": [-1, -1],
        "att_context_style": "regular",
        "xscaling": True,
        "untie_biases": True,
        "pos_emb_max_len": 256,
        "conv_kernel_size": 9,
        "conv_norm_type": "batch_norm",
        "conv_context_size": None,
        "dropout": 0.0,
        "dropout_pre_encoder": 0.0,
        "dropout_emb": 0.0,
        "dropout_att": 0.0,
    }
    config.update(changes)
    return config


# The left context must be a multiple of the chunk (right + 1): NeMo refuses [7, 1].
STREAMING = {
    "causal_downsampling": True,
    "att_context_size": [6, 1],
    "att_context_style": "chunked_limited",
    "conv_norm_type": "layer_norm",
    "conv_context_size": "causal",
}


def identity_adapter(d_model=16):
    target = "nemo.collections.speechlm2.modules.perception.IdentityConnector"
    return {"_target_": target, "d_model": d_model}


def conformer_adapter(**changes):
    return encoder(**{"feat_in": 16, "subsampling_factor": 1, **changes})


def options(pre=None, enc=None, adapter=None, llm=None, tokens=None, codec=None, **model):
    block = {
        "pretrained_llm": "llm",
        "pretrained_audio_codec": "codec",
        "pretrained_asr": "asr",
        "pretrained_weights": False,
        "freeze_params": ["^audio_codec\\..+$"],
        "prevent_freeze_params": [],
        "audio_loss_weight": 4,
        "text_loss_weight": 3,
        "perception": {
            "preprocessor": pre or preprocessor(),
            "encoder": enc or encoder(),
            "modality_adapter": adapter or identity_adapter(),
            "output_dim": WIDTH,
        },
        "optimizer": {
            "_target_": "torch.optim.AdamW",
            "lr": 1e-3,
            "betas": [0.9, 0.98],
            "eps": 1e-4,
            "weight_decay": 0,
            "foreach": True,
        },
        "lr_scheduler": {
            "_target_": "nemo.core.optim.lr_scheduler.CosineAnnealing",
            "warmup_steps": 0,
            "min_lr": 1e-6,
            "max_steps": 10,
        },
    }
    clip = model.pop("gradient_clip_val", 1.0)
    for key, value in model.items():
        block[key] = {**block[key], **value} if isinstance(block.get(key), dict) else value
    return {
        "model": block,
        "llm_config": llm or llm_config(),
        "codec": codec or {"num_codebooks": 4, "codebook_size": 16},
        "tokens": tokens or {"bos": BOS, "eos": EOS, "pad": PAD},
        "trainer": {"gradient_clip_val": clip, "max_steps": 10},
    }


def words(first, count):
    return [5 + (first * 7 + 11 * i) % (VOCAB - 6) for i in range(count)]


# 14 frames of 80 ms are 17920 samples; the mel has one more column, hence 15 frames come out.
TWO_TURNS = [[(1, words(1, 3), 6), (8, words(2, 2), 12)], [(2, words(3, 4), 9)]]
CASES = {}


def case(name, options, seed, **changes):
    CASES[name] = {
        "options": options,
        "seed": seed,
        "lengths": (17920, 14400),
        "turns": deepcopy(TWO_TURNS),
        "codes_frames": 14,
        "code_lens": None,
        **changes,
    }


# Full context, batch_norm in train mode (padding included), identity adapter, tied head, two turns,
# rows of different length, codes one frame shorter than the encoder's output.
case(
    "full_identity_tied",
    options(llm=llm_config(tie_word_embeddings=True)),
    seed=11,
)

# The streaming recipe: chunks of two frames, causal everything, Conformer adapter, mel as it is;
# the adapter has chunks of four.
case(
    "chunked_conformer_untied",
    options(
        pre=preprocessor(normalize="NA"),
        enc=encoder(**STREAMING),
        adapter=conformer_adapter(**{**STREAMING, "att_context_size": [8, 3]}),
    ),
    codes_frames=15,
    seed=12,
)

# 80 mel bands, grouped-query attention, a turn that is cut off (no EOS), a turn whose EOS replaces
# text and whose remaining text runs on, codes one frame longer than the encoder's output.
case(
    "full_gqa_80mel_truncated_turn",
    options(
        pre=preprocessor(features=80),
        enc=encoder(feat_in=80, conv_norm_type="layer_norm", xscaling=False),
        llm=llm_config(num_key_value_heads=2),
    ),
    turns=[[(1, words(4, 5), 4), (9, words(5, 9), None)], [(0, words(6, 3), 7)]],
    codes_frames=16,
    seed=13,
)

# Codes four frames shorter than the user's audio; the user channel is scaled; the first row's
# length has to be clamped. Streaming encoder, identity adapter.
case(
    "chunked_identity_codes_short",
    options(
        pre=preprocessor(normalize="NA"),
        enc=encoder(**STREAMING),
        duplex_user_channel_weight=0.3,
        text_loss_weight=2,
        audio_loss_weight=1,
    ),
    codes_frames=11,
    code_lens=[11, 9],
    seed=14,
)

# Codes five frames longer than the user's audio, three rows, one codebook, llama3 rope scaling.
case(
    "full_codes_long_rope_llama3",
    options(
        enc=encoder(use_bias=False),
        llm=llm_config(
            num_key_value_heads=1,
            rope_parameters={
                "rope_type": "llama3",
                "rope_theta": 10000.0,
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 16,
            },
        ),
        codec={"num_codebooks": 1, "codebook_size": 40},
    ),
    lengths=(12000, 15360, 7777),
    turns=[[(1, words(1, 2), 5)], [(3, words(2, 3), 8)], [(0, words(3, 2), 4)]],
    codes_frames=18,
    code_lens=[15, 18, 12],
    seed=215,
)

# Frozen parts: the encoder is frozen and therefore in eval mode (running statistics of batch_norm
# are used and kept), the LLM is frozen but for its norms and layer 1's MLP.
case(
    "frozen_encoder_and_llm",
    options(
        freeze_params=["^audio_codec\\..+$", "^perception\\.encoder\\..+$", "^llm\\..+$"],
        prevent_freeze_params=["^llm\\..*norm.*$", "^llm\\.layers\\.1\\.mlp\\..+$"],
        enc=encoder(n_layers=2),
    ),
    seed=16,
)

# Warm-up and constant steps, weight decay, AdamW's own eps, other betas; the clip does not bite.
case(
    "schedule_constant_steps",
    options(
        enc=encoder(conv_norm_type="layer_norm"),
        llm=llm_config(tie_word_embeddings=True),
        optimizer={"lr": 2e-3, "betas": [0.8, 0.9], "weight_decay": 0.1, "eps": 1e-8},
        lr_scheduler={"warmup_steps": 1, "constant_steps": 2, "min_lr": 1e-4, "max_steps": 5},
        gradient_clip_val=1000.0,
        text_loss_weight=0.3,
        audio_loss_weight=0.4,
    ),
    seed=27,
)

# 128 mel bands padded to a multiple of 16 columns, a pad token of its own that the LLM's config
# names too (so that its embedding row gets no gradient from look-ups), a tied head.
case(
    "full_128mel_pad_to_16_pad_token",
    options(
        pre=preprocessor(features=128, pad_to=16),
        enc=encoder(feat_in=128, subsampling_conv_channels=8),
        llm=llm_config(tie_word_embeddings=True, pad_token_id=3),
        tokens={"bos": BOS, "eos": EOS, "pad": 3},
    ),
    lengths=(11520, 9000),
    turns=[[(0, words(1, 2), 4)], [(2, words(2, 3), 6)]],
    codes_frames=9,
    seed=18,
)

# Full-context encoder with a window (regular [4, 2]) below a full Conformer adapter, batch_norm in
# both, warm-up, eight codebooks.
case(
    "window_conformer_eight_codebooks",
    options(
        enc=encoder(att_context_size=[4, 2]),
        adapter=conformer_adapter(att_context_size=[-1, -1]),
        codec={"num_codebooks": 8, "codebook_size": 8},
        lr_scheduler={"warmup_steps": 2},
        optimizer={"weight_decay": 0.01},
    ),
    lengths=(14400, 14400),
    turns=[[(1, words(1, 3), 6)], [(2, words(3, 4), 9)]],
    codes_frames=12,
    seed=19,
)

# As many subsampling channels as larger models have in proportion: whole blocks of sixteen, and
# products that are worth a fast library. Rows of different lengths, streaming encoder.
case(
    "chunked_wide_subsampling",
    options(
        pre=preprocessor(normalize="NA"),
        enc=encoder(**{**STREAMING, "subsampling_conv_channels": 48}),
    ),
    lengths=(20480, 15000),
    turns=[[(1, words(1, 3), 6)], [(2, words(2, 4), 9)]],
    codes_frames=16,
    seed=20,
)
