"""Batches of conversations as NeMo's loader and SALMDataset make them (nemo_toolkit 3.0.0).

    python tests/reference/nemo_conversations.py

Reads data/nemo_loader and writes data/nemo_conversations: talks.jsonl, conversations with several
audios, and cases.json: configurations of a data set, and the batches of one pass.
"""

import json
import os
import tempfile
from pathlib import Path

from nemo.collections.common.data.lhotse import dataloader as nemo
from nemo.collections.speechlm2.data import SALMDataset
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
    "cuts": {"format": "qwen", "input_cfg": [CUTS_CFG], "batch_size": 4},
    "cuts_tokens": {"format": "llama2", "input_cfg": [CUTS_CFG], "batch_tokens": 200, **TOKENS,
                    "measure_total_length": True, "shuffle": True},
}


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


def main():
    OUT.mkdir(exist_ok=True)
    os.chdir(OUT)
    write_talks()
    with tempfile.TemporaryDirectory() as folder:
        cases = [case(name, config, folder) for name, config in CASES.items()]
    lines = ",\n".join(json.dumps(item) for item in cases)
    Path("cases.json").write_text(f'{{"tag": "{TAG}", "cases": [\n{lines}\n]}}\n')


if __name__ == "__main__":
    main()
