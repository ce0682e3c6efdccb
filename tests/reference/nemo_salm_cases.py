"""The cases of nemo_salm.py: what each one is about is in its comment.

A row of a case is a list of turns (role, items): an item is a number of text ids, or the letter "A"
for an audio. The loss counts the ids of the role "assistant". `prompts` are rows that generate()
continues.
"""

from nemo_duplex_cases import (
    BOS,
    EOS,
    PAD,
    VOCAB,
    WIDTH,
    conformer_adapter,
    encoder,
    identity_adapter,
    llm_config,
    preprocessor,
)
from nemo_duplex_families import family_config, gemma_config

TAG = VOCAB  # the id that NeMo's tokenizer gives the tag, which it adds
CASES = {}
LLAMA_TOKENS = {"bos": BOS, "eos": EOS, "pad": PAD, "audio_locator_tag": TAG}
QWEN_TOKENS = {**LLAMA_TOKENS, "pad": 3}


def small_encoder(**changes):
    return encoder(**{"subsampling_conv_channels": 4, **changes})


def options(llm, tokens=None, pre=None, enc=None, adapter=None, **model):
    block = {
        "pretrained_llm": "llm",
        "pretrained_asr": "asr",
        "pretrained_weights": False,
        "prompt_format": "llama2",
        "audio_locator_tag": "<audio>",
        "freeze_params": [],
        "prevent_freeze_params": [],
        "perception": {
            "preprocessor": pre or preprocessor(),
            "encoder": enc or small_encoder(),
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
        **model,
    }
    return {
        "model": block,
        "llm_config": llm,
        "tokens": tokens or LLAMA_TOKENS,
        "trainer": {"gradient_clip_val": 1.0, "max_steps": 10},
    }


def case(name, options, seed, rows, prompts, audio_lens, prompt_audios, **changes):
    """audio_lens: samples of the training rows' audios; prompt_audios: which of them the prompts
    use."""
    CASES[name] = {
        "options": options,
        "seed": seed,
        "rows": rows,
        "prompts": prompts,
        "audio_lens": audio_lens,
        "prompt_audios": prompt_audios,
        "max_new_tokens": 7,
        "num_beams": 3,
        **changes,
    }


PLAIN_ROWS = [
    [("user", [3, "A", 2]), ("assistant", [6])],
    [("user", ["A", 1]), ("assistant", [3])],
]
PLAIN_PROMPTS = [[("user", [3, "A", 2])], [("user", ["A"])]]

# Untied Llama, grouped-query attention, one audio a row, rows of different length.
case(
    "llama",
    options(llm_config(num_key_value_heads=2)),
    seed=60,
    rows=PLAIN_ROWS,
    prompts=PLAIN_PROMPTS,
    audio_lens=(9000, 6400),
    prompt_audios=(0, 1),
)

# Several audios in a row, beside each other and at both ends, a row of text only, several turns of
# the assistant, a Conformer adapter.
case(
    "qwen3_several_audios",
    options(
        family_config("qwen3", "Qwen3ForCausalLM", head_dim=16, tie_word_embeddings=True),
        tokens=QWEN_TOKENS,
        enc=small_encoder(conv_norm_type="layer_norm"),
        adapter=conformer_adapter(conv_norm_type="layer_norm", n_layers=1),
        prompt_format="qwen",
    ),
    seed=71,
    rows=[
        [("user", ["A", 2, "A", "A"]), ("assistant", [4])],
        [("user", [4]), ("assistant", [3]), ("user", [2]), ("assistant", [2])],
        [("user", [1, "A"]), ("assistant", [2]), ("user", ["A", 1]), ("assistant", [3])],
    ],
    prompts=[
        [("user", ["A", "A", 2])],
        [("user", [5])],
        [("user", [1, "A"]), ("assistant", [2]), ("user", ["A"])],
    ],
    audio_lens=(5000, 7040, 2000, 6000, 3333),
    prompt_audios=(0, 1, 3, 4),
)

# Biases of queries, keys and values; a frozen encoder, which then runs in eval mode.
case(
    "qwen2_frozen_encoder",
    options(
        family_config("qwen2", "Qwen2ForCausalLM", tie_word_embeddings=False),
        tokens=QWEN_TOKENS,
        prompt_format="qwen",
        freeze_params=["^perception\\.encoder\\..+$"],
    ),
    seed=53,
    rows=PLAIN_ROWS,
    prompts=PLAIN_PROMPTS,
    audio_lens=(6400, 9000),
    prompt_audios=(0, 1),
)

# A window, tied, embeddings scaled: audio is not.
case(
    "gemma3",
    options(
        gemma_config(
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
        prompt_format="gemma",
    ),
    seed=54,
    rows=PLAIN_ROWS,
    prompts=PLAIN_PROMPTS,
    audio_lens=(9000, 6400),
    prompt_audios=(0, 1),
)

# The final soft cap, which applies here (the duplex model skips it).
case(
    "gemma2",
    options(
        gemma_config(
            "gemma2",
            "Gemma2ForCausalLM",
            attn_logit_softcapping=50.0,
            final_logit_softcapping=2.0,
            layer_types=["sliding_attention", "full_attention"],
        ),
        prompt_format="gemma",
    ),
    seed=63,
    rows=PLAIN_ROWS,
    prompts=PLAIN_PROMPTS,
    audio_lens=(6400, 9000),
    prompt_audios=(0, 1),
)

# PEFT's adapters on a frozen Llama.
case(
    "llama_lora",
    options(
        llm_config(),
        freeze_params=["^llm\\..+$", "^embed_tokens\\..+$"],
        lora={
            "task_type": "CAUSAL_LM",
            "r": 4,
            "lora_alpha": 12,
            "lora_dropout": 0.0,
            "target_modules": ["q_proj", "v_proj", "down_proj"],
        },
    ),
    seed=167,
    rows=PLAIN_ROWS,
    prompts=PLAIN_PROMPTS,
    audio_lens=(9000, 6400),
    prompt_audios=(0, 1),
)

# No pattern freezes anything, and some would keep the language model open: PEFT has frozen it with
# its embedding and its head, before NeMo asks for patterns. Only adapters and perception train.
case(
    "llama_lora_tied_kept",
    options(
        llm_config(tie_word_embeddings=True),
        prevent_freeze_params=["^llm\\..+$", "^embed_tokens\\..+$"],
        lora={
            "task_type": "CAUSAL_LM",
            "r": 4,
            "lora_alpha": 12,
            "lora_dropout": 0.0,
            "target_modules": ["q_proj", "v_proj"],
        },
    ),
    seed=60,
    rows=PLAIN_ROWS,
    prompts=PLAIN_PROMPTS,
    audio_lens=(9000, 6400),
    prompt_audios=(0, 1),
)

# A tied table is llm.lm_head.weight, the name under which NeMo's class registers it first.
case(
    "llama_tied_frozen",
    options(llm_config(tie_word_embeddings=True), freeze_params=["^llm\\.lm_head\\..+$"]),
    seed=60,
    rows=PLAIN_ROWS,
    prompts=PLAIN_PROMPTS,
    audio_lens=(9000, 6400),
    prompt_audios=(0, 1),
)

# The encoder gets pieces of 0.2 s; the tail of the second audio is folded, the third is one piece.
case(
    "llama_chunked_encoder",
    options(llm_config(tie_word_embeddings=True), encoder_chunk_size_seconds=0.2),
    seed=66,
    rows=[
        [("user", [2, "A", 1, "A"]), ("assistant", [4])],
        [("user", ["A", 2]), ("assistant", [5])],
    ],
    prompts=[[("user", [2, "A"])], [("user", ["A", 2, "A"])]],
    audio_lens=(9000, 6500, 3000),
    prompt_audios=(1, 0, 2),
)

# The text that NeMo's own transducer hears stands behind each audio (SALMWithAsrDecoder).
case(
    "llama_asr_decoder",
    options(
        llm_config(num_key_value_heads=2),
        asr_decoder={
            "vocabulary": [f" word{i}" for i in range(7, 19)],
            "pred_hidden": 10,
            "pred_rnn_layers": 2,
            "joint_hidden": 14,
            "max_symbols": 3,
        },
        asr_transcript_drop_prob=0.0,
        enc=small_encoder(conv_norm_type="layer_norm"),
        freeze_params=["^perception\\.asr\\..+$"],
    ),
    seed=461,
    rows=PLAIN_ROWS,
    prompts=PLAIN_PROMPTS,
    audio_lens=(9000, 6400),
    prompt_audios=(0, 1),
)

# A transducer that jumps (TDT), as in NeMo's salm_asr_decoder_qformer.yaml.
case(
    "llama_asr_decoder_tdt",
    options(
        llm_config(num_key_value_heads=2),
        asr_decoder={
            "vocabulary": [f" word{i}" for i in range(7, 19)],
            "durations": [0, 1, 2],
            "pred_hidden": 10,
            "pred_rnn_layers": 2,
            "joint_hidden": 14,
            "max_symbols": 3,
        },
        asr_transcript_drop_prob=0.0,
        enc=small_encoder(conv_norm_type="layer_norm"),
        freeze_params=["^perception\\.asr\\..+$"],
    ),
    seed=181,
    rows=PLAIN_ROWS,
    prompts=PLAIN_PROMPTS,
    audio_lens=(9000, 12400),
    prompt_audios=(0, 1),
)
