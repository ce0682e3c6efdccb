"""The cases of nemo_duplex_stt.py: what each one is about is in its comment.

A case = options (as stored in the file), the lengths of the batch, the agent's turns and the
user's turns (start frame, text ids, end frame or None), and what else the batch holds: `prompts`
(token ids in front of each row), `text` (rows of text data), `task`, `no_audio`.
"""

from nemo_duplex_cases import BOS, EOS, PAD, STREAMING, VOCAB, encoder, llm_config, preprocessor
from nemo_duplex_cases import options as duplex_options
from nemo_duplex_cases import words
from nemo_duplex_families import family_config, gemma_config

CASES = {}
# The file is about the channels: a small encoder.
SMALL = encoder(conv_norm_type="layer_norm", subsampling_conv_channels=4)
SMALL_STREAM = encoder(**{**STREAMING, "subsampling_conv_channels": 4})


def options(**changes):
    found = duplex_options(**{"enc": SMALL, "text_loss_weight": 1.5, **changes})
    del found["codec"]
    block = found["model"]
    for key in ("audio_loss_weight", "pretrained_audio_codec"):
        del block[key]
    block.update(freeze_params=changes.get("freeze_params", []), source_sample_rate=16000,
                 validation_save_path="results")
    return found


def case(name, options, seed, **changes):
    CASES[name] = {
        "options": options,
        "seed": seed,
        "lengths": (17920, 14400),
        "turns": [[(1, words(1, 3), 6), (8, words(2, 2), 12)], [(2, words(3, 4), 9)]],
        "user_turns": [[(0, words(7, 2), 3)], [(1, words(8, 3), 5)]],
        "prompts": None,
        "text": None,
        "task": "s2s_duplex",
        "no_audio": False,
        **changes,
    }


# Agent text only: rows of different length (the sequence mask), weights of both channels.
case(
    "agent_text",
    options(duplex_user_channel_weight=0.4, duplex_text_channel_weight=1.2),
    seed=61,
)

# The user channel, every delay but advance, weights by kind of label, a text batch beside the
# audio, boosts, a tied head (of which asr_head is a copy that is not tied).
case(
    "user_text",
    options(
        llm=llm_config(tie_word_embeddings=True),
        predict_user_text=True,
        asr_loss_weight=0.7,
        duplex_asr_text_weight=0.6,
        duplex_user_channel_weight=0.8,
        delay_text_channel_by=1,
        delay_text_eos_by=1,
        delay_text_bos_by=2,
        delay_source_text_by=1,
        token_loss_weight={"pad": 0.3, "bos": 2.0, "eos": 1.5, "text": 1.1},
        text_to_text_loss_weight=0.3,
        inference_pad_boost=1.2,
        inference_bos_boost=1.2,
        inference_eos_boost=1.6,
    ),
    text=[words(11, 9), words(12, 5)],
    seed=802,
)

# Qwen 2, a streaming encoder, the text channel in advance, forced turn taking, no sequence mask.
case(
    "qwen2_forced_turns",
    options(
        pre=preprocessor(normalize="NA"),
        enc=SMALL_STREAM,
        llm=family_config("qwen2", "Qwen2ForCausalLM", tie_word_embeddings=True),
        tokens={"bos": BOS, "eos": EOS, "pad": 3},
        predict_user_text=True,
        advance_text_channel_by=2,
        mask_sequence_loss=False,
        force_turn_taking=True,
        force_turn_taking_threshold=4,
        force_turn_taking_pad_window=2,
    ),
    lengths=(46080, 38400),
    turns=[[(3, words(1, 4), 12), (20, words(2, 5), 31)], [(5, words(3, 6), 22)]],
    user_turns=[[(0, words(7, 2), 3), (13, words(9, 4), 19)], [(1, words(8, 3), 5)]],
    seed=101,
)

# System prompts of different length in front of the rows, with a user channel.
case(
    "system_prompt",
    options(predict_user_text=True, duplex_user_channel_weight=0.9,
            token_loss_weight={"pad": 0.5, "bos": 1.0, "eos": 1.0, "text": 2.0}),
    prompts=[words(21, 3), words(22, 1)],
    seed=101,
)

# ASR data: the agent's silence is not trained behind its first BOS. The encoder is frozen.
case(
    "asr_task",
    options(
        predict_user_text=True,
        token_loss_weight={"pad": 0.2, "text": 1.5},
        freeze_params=["^perception\\.encoder\\..+$", "^embed_asr_tokens\\..+$"],
    ),
    turns=[[(9, [], None)], [(6, [], 11)]],
    task="asr",
    seed=65,
)

# The same with weights of 1: the key alone leaves those labels out.
case(
    "asr_task_ones",
    options(
        predict_user_text=True,
        token_loss_weight={"pad": 1.0, "bos": 1.0, "eos": 1.0, "text": 1.0},
    ),
    turns=[[(9, [], None)], [(6, [], 11)]],
    task="asr",
    seed=65,
)

# Gemma 2: the user's embedding is scaled as the language model's is; no soft cap on either head.
case(
    "gemma2_user_text",
    options(
        llm=gemma_config(
            "gemma2",
            "Gemma2ForCausalLM",
            attn_logit_softcapping=50.0,
            final_logit_softcapping=30.0,
            layer_types=["sliding_attention", "full_attention"],
        ),
        predict_user_text=True,
        duplex_asr_text_weight=0.5,
        token_loss_weight={"pad": 0.7, "bos": 1.3, "eos": 1.0, "text": 1.0},
    ),
    seed=170,
)

# A batch of text only.
case(
    "text_only",
    options(llm=family_config("qwen3", "Qwen3ForCausalLM"), text_to_text_loss_weight=0.4),
    text=[words(31, 12), words(32, 7), words(33, 2)],
    no_audio=True,
    seed=66,
)

assert PAD == 0 and VOCAB == 96
