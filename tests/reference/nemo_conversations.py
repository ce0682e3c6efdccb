"""Batches of conversations as NeMo's loader and SALMDataset make them (nemo_toolkit 3.0.0).

    python tests/reference/nemo_conversations.py

Reads data/nemo_loader and writes data/nemo_conversations: talks.jsonl, conversations with several
audios, cases.json: configurations of a data set, and the batches of one pass, and answers.json: the
prompts that a model gets of them for its answers, with turns that are added.
"""

import json
import os
import tempfile
from pathlib import Path

from nemo.collections.common.data.lhotse import dataloader as nemo
from nemo.collections.common.data.lhotse.text_adapters import TextTurn
from nemo.collections.speechlm2.data import SALMDataset
from nemo.collections.speechlm2.models.salm_asr_decoder import strip_response_if_any
from nemo_prompts import TAG, TOKENIZERS, tokenizer_of
from omegaconf import OmegaConf

DATA = Path(__file__).parent / "data"
OUT = DATA / "nemo_conversations"
RATE = 8000
FRAME_S = 0.04


def audio(index, role="User", **more):
    return {"type": "audio", "from": role, "value": f"../nemo_loader/wavs/a{index}.flac", **more}


def text(value, role="User"):
    return {"type": "text", "from": role, "value": value}


TALKS = [
    [text("Say it again:"), audio(0, duration=0.125), text("it again", "Assistant")],
    [audio(1, duration=0.1, offset=0.05), text("one", "Assistant"), text("and"),
     audio(2, duration=0.23), audio(0, duration=0.125), text("two of them", "Assistant")],
    [text("No audio here."), text("None.", "Assistant")],
    [text("A long question about what is said in this piece of audio, if anything:"),
     audio(4, duration=0.338), text("nothing", "Assistant")],
    [audio(3, duration=0.251), text("a", "Assistant")],
    [text("Compare"), audio(5, duration=0.386), text("with"), audio(3, duration=0.251),
     text("they differ", "Assistant")],
    [text("skipped"), text("skipped", "Assistant")],
]

TALKS_CFG = {"type": "multimodal_conversation", "manifest_filepath": "talks.jsonl",
             "audio_locator_tag": TAG, "token_equivalent_duration": FRAME_S}
CUTS_CFG = {"type": "lhotse_as_conversation", "audio_locator_tag": TAG,
            "token_equivalent_duration": FRAME_S, "tags": {"context": "Transcribe:"},
            "input_cfg": [{"type": "nemo", "manifest_filepath": "../nemo_loader/plain.json"}]}
TOKENS = {"use_multimodal_sampling": True, "token_equivalent_duration": FRAME_S}
SIZES = {"bucket_batch_size": [3, 2, 1], "bucket_buffer_size": 6, "use_bucketing": True,
         "measure_total_length": True}

CASES = {
    "talks": {"format": "qwen", "input_cfg": [TALKS_CFG], "batch_size": 3},
    "talks_llama2": {"format": "llama2", "input_cfg": [TALKS_CFG], "batch_size": 2},
    "talks_tokens": {"format": "qwen", "input_cfg": [TALKS_CFG], "batch_tokens": 150, **TOKENS,
                     "measure_total_length": True},
    "talks_tokens_input": {"format": "qwen", "input_cfg": [TALKS_CFG], "batch_tokens": 190,
                           "quadratic_factor": 300, **TOKENS, "measure_total_length": False},
    "talks_shuffled": {"format": "qwen", "input_cfg": [TALKS_CFG], "batch_size": 2,
                       "shuffle": True},
    "talks_buckets": {"format": "qwen", "input_cfg": [TALKS_CFG], "batch_tokens": 200,
                      "use_bucketing": True, "bucket_duration_bins": [40, 60, 120],
                      "bucket_buffer_size": 6, **TOKENS, "measure_total_length": True},
    "talks_bucket_sizes": {"format": "qwen", "input_cfg": [TALKS_CFG], **TOKENS, **SIZES,
                           "bucket_duration_bins": [40, 60, 120]},
    "talks_2d": {"format": "qwen", "input_cfg": [TALKS_CFG], **TOKENS, **SIZES,
                 "bucket_duration_bins": [[35, 14], [35, 20], [120, 20]]},
    "talks_2d_any": {"format": "qwen", "input_cfg": [TALKS_CFG], **TOKENS, **SIZES,
                     "bucket_duration_bins": [[35, 14], [60, 20], [120, 26]],
                     "bucketing_2d_strict_mode": False},
    "talks_2d_ratio": {"format": "qwen", "input_cfg": [TALKS_CFG], **TOKENS, **SIZES,
                       "bucket_duration_bins": [[35, 26], [60, 26], [120, 26]],
                       "max_tpt": [0.78, 0.45, 9.0]},
    "cuts": {"format": "qwen", "input_cfg": [CUTS_CFG], "batch_size": 4},
    "cuts_tokens": {"format": "llama2", "input_cfg": [CUTS_CFG], "batch_tokens": 200, **TOKENS,
                    "measure_total_length": True, "shuffle": True},
}

ANSWERS = [
    ("qwen", TALKS_CFG, "", "Transcribe:"),
    ("llama3", TALKS_CFG, "Be brief.", ""),
    ("llama3", CUTS_CFG["input_cfg"][0], "Be brief.", "What is said?"),
    ("llama2", CUTS_CFG["input_cfg"][0], "", "What is said?"),
    ("gemma", CUTS_CFG["input_cfg"][0], "", ""),
]


def write_talks():
    lines = [{"id": f"talk-{i}", "conversations": turns} for i, turns in enumerate(TALKS)]
    lines[-1]["custom"] = {"_skipme": True}
    Path("talks.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def named(text):
    return text.replace(str(DATA), "{data}")


def batch_fields(batch):
    audios = batch["audios"]
    return {
        "ids": [named(c.id) for c in batch["conversations"]],
        "input_ids": batch["input_ids"].tolist(),
        "loss_mask": batch["loss_mask"].to(int).tolist(),
        "audio_lens": batch["audio_lens"].to(int).tolist(),
        "audio_energy": [round(float(row.square().sum()), 6) for row in audios],
    }


def case(name, config, folder):
    config = dict(config)
    prompt_format = config.pop("format")
    file, special = TOKENIZERS[prompt_format]
    tokenizer = tokenizer_of(file, special, folder)
    config.update(prompt_format=prompt_format, force_finite=True, shard_seed=3, seed=7)
    loader = nemo.get_lhotse_dataloader_from_config(
        OmegaConf.create({**config, "sample_rate": RATE, "concurrent_bucketing": False}),
        0, 1, dataset=SALMDataset(tokenizer), tokenizer=tokenizer)
    batches = [batch_fields(batch) for batch in loader]
    ids = {k: tokenizer.token_to_id(v) for k, v in special.items()}
    print(name, [b["ids"] for b in batches])
    return {"name": name, "config": config, "tokenizer": f"hf_tokenizer_{file}.json",
            "special": ids, "batches": batches}


class Prompts:
    """Conversations without their answers, with the turns that salm_generate.py adds."""

    def __init__(self, tokenizer, prompt_format, system, user):
        self.how = tokenizer, prompt_format
        self.system, self.user = system, user

    def __getitem__(self, conversations):
        prompts = [self.prompt(strip_response_if_any(c)) for c in conversations]
        return {"ids": [named(c.id) for c in conversations],
                "prompts": [p.input_ids.tolist() for p in prompts],
                "texts": [c.turns[-1].value for c in conversations]}

    def prompt(self, conversation):
        turns = list(conversation.turns)
        is_asked = any(t.role == "user" and isinstance(t, TextTurn) for t in turns)
        if self.user and not is_asked:
            turns.insert(0, TextTurn(role="user", value=self.user))
        if self.system and all(t.role != "system" for t in turns):
            turns.insert(0, TextTurn(role="system", value=self.system))
        conversation.turns = turns
        return nemo.tokenize_with_prompt(conversation, *self.how)


def answers(prompt_format, entry, system, user, folder):
    file, special = TOKENIZERS[prompt_format]
    tokenizer = tokenizer_of(file, special, folder)
    is_cuts = entry is not TALKS_CFG
    source = {**CUTS_CFG, "tags": {}, "input_cfg": [entry]} if is_cuts else entry
    config = {"input_cfg": [source], "batch_size": 100, "force_finite": True, "shard_seed": 3,
              "seed": 7, "sample_rate": RATE, "prompt_format": prompt_format, "pretokenize": False}
    loader = nemo.get_lhotse_dataloader_from_config(
        OmegaConf.create(config), 0, 1, tokenizer=tokenizer,
        dataset=Prompts(tokenizer, prompt_format, system, user))
    [batch] = list(loader)
    print(prompt_format, batch["ids"], batch["texts"])
    ids = {k: tokenizer.token_to_id(v) for k, v in special.items()}
    return {"format": prompt_format, "entry": entry, "system": system, "user": user,
            "tokenizer": f"hf_tokenizer_{file}.json", "special": ids, **batch}


def main():
    OUT.mkdir(exist_ok=True)
    os.chdir(OUT)
    write_talks()
    with tempfile.TemporaryDirectory() as folder:
        cases = [case(name, config, folder) for name, config in CASES.items()]
        asked = [answers(*how, folder) for how in ANSWERS]
    lines = ",\n".join(json.dumps(item) for item in cases)
    Path("cases.json").write_text(f'{{"tag": "{TAG}", "cases": [\n{lines}\n]}}\n')
    lines = ",\n".join(json.dumps(item) for item in asked)
    Path("answers.json").write_text(f'{{"tag": "{TAG}", "cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
