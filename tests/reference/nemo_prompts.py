"""Prompts of NVIDIA NeMo's PromptFormatter classes (nemo_toolkit 3.0.0): ids and loss masks.

    python tests/reference/nemo_prompts.py --out tests/reference/data

nemo_prompts.json.gz: for each case the format, the tokenizer (a file of this folder's data, to
which the tag is added), the turns of the conversation, and what NeMo makes of it: input_ids, mask
(empty without an answer at the end) and context_ids. Turns with the role of the one before are
joined with one space, as NeMo joins those of a NeMoMultimodalConversation. qwen3 draws where it
writes "/no_think"; Python's random is seeded with `seed`.
"""

import argparse
import json
import random
import shutil
import tempfile
from pathlib import Path

import reference_file as rf

DATA = Path(__file__).parent / "data"
TAG = "<|audioplaceholder|>"
AUDIO = {"role": "user", "audio": True}


def user(text):
    return {"role": "user", "text": text}


def assistant(text):
    return {"role": "assistant", "text": text}


def system(text):
    return {"role": "system", "text": text}


PLAIN = [user("Transcribe the following:"), AUDIO, assistant("hello world, it is 7 o'clock")]
AUDIO_FIRST = [AUDIO, assistant("Yes.")]
SEVERAL = [
    user("Compare"),
    AUDIO,
    user("with"),
    AUDIO,
    assistant("They are the same."),
    user("And\nthis one?  "),
    AUDIO,
    assistant(" No\n"),
    assistant("not at all"),
]
TEXT_ONLY = [user("What time is it?"), assistant("Ten."), user("PM?"), assistant("AM!")]
OPEN = [user("What is said here?"), AUDIO]
WITH_SYSTEM = [system("Be brief."), *PLAIN]
THINKING = [
    system(" "),
    user("Count to 3"),
    assistant("<think>\none two\n</think>\n\n1 2 3"),
    user("Again"),
    AUDIO,
    assistant("<think>easy</think>\n1 2 3"),
]
COMMON = [PLAIN, AUDIO_FIRST, SEVERAL, TEXT_ONLY, OPEN]

TOKENIZERS = {
    "llama2": ("tinyllama", {"bos": "<s>", "eos": "</s>", "unk": "<unk>"}),
    "llama3": ("llama3", {"bos": "<|begin_of_text|>", "eos": "<|eot_id|>"}),
    "gemma": ("gemma", {"bos": "<bos>", "eos": "<eos>", "unk": "<unk>", "pad": "<pad>"}),
    "qwen": ("qwen2", {"eos": "<|im_end|>", "pad": "<|endoftext|>"}),
    "qwen3": ("qwen2", {"eos": "<|im_end|>", "pad": "<|endoftext|>"}),
}
CASES = {
    "llama2": [*COMMON, ("Be brief.", PLAIN), ("Answer in Polish.", SEVERAL)],
    "llama3": [*COMMON, WITH_SYSTEM],
    "gemma": COMMON,
    "qwen": COMMON,
    "qwen3": [*COMMON, WITH_SYSTEM, THINKING],
}


def tokenizer_of(name, special, folder):
    from nemo.collections.common.tokenizers import AutoTokenizer

    path = Path(folder) / name
    path.mkdir(exist_ok=True)
    shutil.copy(DATA / f"hf_tokenizer_{name}.json", path / "tokenizer.json")
    settings = {f"{k}_token": v for k, v in special.items()}
    settings["tokenizer_class"] = "PreTrainedTokenizerFast"
    (path / "tokenizer_config.json").write_text(json.dumps(settings))
    tokenizer = AutoTokenizer(str(path), use_fast=True)
    tokenizer.add_special_tokens({"additional_special_tokens": [TAG]})
    return tokenizer


def conversation(turns, system_prompt):
    from nemo.collections.common.data.lhotse import NeMoMultimodalConversation
    from nemo.collections.common.data.lhotse.text_adapters import AudioTurn, TextTurn

    made = [
        AudioTurn(cut=None, role=t["role"], audio_locator_tag=TAG)
        if "audio" in t
        else TextTurn(value=t["text"], role=t["role"])
        for t in turns
    ]
    custom = {} if system_prompt is None else {"system_prompt": system_prompt}
    return NeMoMultimodalConversation(id="x", turns=made, custom=custom)


def encode(case_turns, formatter, seed):
    import nemo.collections.speechlm2.data.salm_dataset  # noqa: F401, registers Llama 2's function

    system_prompt, turns = case_turns if isinstance(case_turns, tuple) else (None, case_turns)
    example = conversation(turns, system_prompt)
    random.seed(seed)
    example.apply_prompt_format(formatter)
    mask = getattr(example, "mask", None)  # absent without an answer at the end
    return {
        "turns": turns,
        "system_prompt": system_prompt,
        "seed": seed,
        "input_ids": example.input_ids.tolist(),
        "mask": [] if mask is None else mask.to(int).tolist(),
        "context_ids": example.context_ids.tolist(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=str(DATA))
    out = Path(parser.parse_args().out) / "nemo_prompts.json.gz"

    from nemo.collections.common.prompts import PromptFormatter

    cases = []
    with tempfile.TemporaryDirectory() as folder:
        for name, (file, special) in TOKENIZERS.items():
            tokenizer = tokenizer_of(file, special, folder)
            formatter = PromptFormatter.resolve(name)(tokenizer)
            ids = {k: tokenizer.token_to_id(v) for k, v in special.items()}
            facts = {"format": name, "tokenizer": f"hf_tokenizer_{file}.json", "special": ids}
            facts["tag_id"] = tokenizer.token_to_id(TAG)
            seeds = range(1, 9) if name == "qwen3" else [0]
            for turns in CASES[name]:
                cases += [{**facts, **encode(turns, formatter, seed)} for seed in seeds]
    size = rf.write_json(out, {"tag": TAG, "cases": cases})
    print(f"{out.name} {size} bytes, {len(cases)} cases")


if __name__ == "__main__":
    main()
