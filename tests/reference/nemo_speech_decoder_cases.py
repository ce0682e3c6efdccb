"""More cases of nemo_duplex.py: DuplexS2SSpeechDecoderModel.

kind=model, name=duplex_s2s_speech_decoder. NeMo's class also creates the audio embeddings and the
audio head of DuplexS2SModel, which nothing uses: they are not in the files. The chance to train
without the condition is 1e-9 or 1, so that a training step draws nothing that matters.
"""

from nemo_duplex_cases import STREAMING, WIDTH, case, encoder, options, preprocessor


def speech_decoder(**changes):
    return {
        "n_layers": 2,
        "d_model": 24,
        "d_ffn": 40,
        "sa_n_heads": 3,
        "kernel_size": 3,
        "p_dropout": 0.0,
        "p_dropout_out": 0.0,
        "has_xattn": False,
        "xa_d_memory": 24,
        "xa_n_heads": 3,
        "is_causal": True,
        "apply_norm_to_cond": True,
        "apply_norm_out": True,
        "max_length_causal_mask": 40,
        "cond_on_prev_audio_tokens": True,
        "detach_input": False,
        "use_learnable_pos_emb": True,
        **changes,
    }


STREAMED = {
    "pre": preprocessor(normalize="NA"),
    "enc": encoder(**STREAMING, subsampling_conv_channels=4),
}

# Another width than the language model's (a projection), four codebooks, guided decoding.
case(
    "speech_decoder_guided",
    options(
        speech_decoder=speech_decoder(cfg_unconditional_prob=1e-9, cfg_scale=1.7),
        **STREAMED,
    ),
    seed=61,
)

# The language model's own width, hidden states cut off from the audio loss, no previous tokens, no
# positions, no norm at the end, another kernel.
case(
    "speech_decoder_detached",
    options(
        speech_decoder=speech_decoder(
            n_layers=1, d_model=WIDTH, sa_n_heads=4, kernel_size=2, apply_norm_out=False,
            detach_input=True, use_learnable_pos_emb=False, cond_on_prev_audio_tokens=False,
        ),
        duplex_user_channel_weight=0.3,
        **STREAMED,
    ),
    seed=62,
)

# Every training step without the condition: the language model learns from its text loss alone,
# and the projection gets no gradient at all. The default guidance in decoding.
case(
    "speech_decoder_unconditional",
    options(
        speech_decoder=speech_decoder(n_layers=1, cfg_unconditional_prob=1.0, kernel_size=1),
        codec={"num_codebooks": 2, "codebook_size": 12},
        enc=encoder(conv_norm_type="layer_norm", subsampling_conv_channels=4),
    ),
    codes_frames=11,
    code_lens=[11, 9],
    seed=63,
)
