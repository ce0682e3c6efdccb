"""Trains two steps, exports the language model, and loads it with transformers.

    python tests/reference/export_check.py build/bin/s2s-run [--case NAME ...]

Every family and what its config.json has to say: scaled rotary positions, windows, soft caps,
biases, tied and untied heads, shards. For each case, checks that from_pretrained finds every
tensor, that they are the checkpoint's, and that `s2s-run compare` computes transformers' logits
from the exported folder, on texts longer than the windows. What a converter to GGUF asks for is
there: gguf knows every tensor's name, and finds the special tokens. With an adapter (model.lora),
checks too that PEFT finds the base by the adapter's name for it, and computes the merged model's
logits.
Exit code 77 where transformers, gguf, or for the adapter PEFT, is missing.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import gguf
    import torch
    from safetensors.torch import load_file
    from transformers import AutoConfig, AutoModelForCausalLM, GenerationConfig
    from transformers.utils import logging
except ImportError as missing:
    print(f"skipped: {missing}; pip install transformers safetensors torch gguf")
    sys.exit(77)

import reference_file as rf

ROOT = Path(__file__).resolve().parents[2]
LLAMA3_ROPE = (
    "model.llm.rope_scaling={rope_type: llama3, factor: 4, low_freq_factor: 1,"
    " high_freq_factor: 4, original_max_position_embeddings: 16}"
)
YARN_ROPE = (
    "model.llm.rope_scaling={rope_type: yarn, factor: 4, original_max_position_embeddings: 16}"
)
LONG_ROPE = (
    "model.llm.rope_scaling={rope_type: longrope, original_max_position_embeddings: 16,"
    " short_factor: [1, 1, 1.1, 1.2, 1.3, 1.4, 1.5, 2],"
    " long_factor: [1, 1.5, 2, 3, 5, 8, 13, 20]}"
)

# name -> (changes of configs/tiny.yaml, words of checkpoint export)
CASES = {
    "llama": (["name=llama"], []),
    "llama_rope_untied_bias": (
        ["name=llama", LLAMA3_ROPE, "tie_word_embeddings=false", "attention_bias=true"],
        ["--max-shard-size", "60KB"],
    ),
    "tinyllama": (["name=tinyllama"], []),
    "gemma": (["name=gemma", "model_type=gemma"], []),
    "gemma_2": (
        ["name=gemma", "model_type=gemma2", "sliding_window=7", "query_pre_attn_scalar=10"]
        + ["final_logit_softcapping=4.5", "attn_logit_softcapping=1.5"],
        ["--max-shard-size", "100KB"],
    ),
    "gemma_2_no_caps_untied": (
        ["name=gemma", "model_type=gemma2", "tie_word_embeddings=false", "head_dim=24"]
        + ["final_logit_softcapping=null", "attn_logit_softcapping=null", "sliding_window=7"],
        [],
    ),
    "gemma_3": (
        ["name=gemma", "model_type=gemma3_text", "sliding_window=7", "num_hidden_layers=3"]
        + ["sliding_window_pattern=3", "rope_local_base_freq=300.0", "pad_token_id=0"]
        + ["model.llm.rope_scaling={rope_type: linear, factor: 8}"],
        [],
    ),
    "gemma_3_layer_types": (
        ["name=gemma", "model_type=gemma3_text", "sliding_window=7"]
        + ["layer_types=[full_attention, sliding_attention]"],
        [],
    ),
    "qwen_2": (["name=qwen", "model_type=qwen2"], []),
    "qwen_2_window_yarn": (
        ["name=qwen", "model_type=qwen2", "use_sliding_window=true", "max_window_layers=1"]
        + ["sliding_window=7", YARN_ROPE],
        [],
    ),
    "qwen_3": (["name=qwen", "model_type=qwen3", "head_dim=24"], []),
    "qwen_3_bias_untied": (
        ["name=qwen", "model_type=qwen3", "attention_bias=true", "tie_word_embeddings=false"],
        ["--dtype", "float32"],
    ),
    "mistral_window": (["name=mistral", "sliding_window=7"], []),
    "phi3": (["name=phi3", "sliding_window=7", "tie_word_embeddings=false"], []),
    "phi3_longrope": (["name=phi3", LONG_ROPE], []),
    "phi3_longrope_factor": (
        ["name=phi3", LONG_ROPE.replace("16,", "16, attention_factor: 1.5, factor: 3,")],
        [],
    ),
    "adapter": (
        ["name=llama", "model.lora.r=4", "model.lora.target_modules=[q_proj,down_proj]"],
        [],
    ),
    "adapter_mistral": (
        ["name=mistral", "model.lora.r=4", "model.lora.target_modules=[k_proj,gate_proj]"],
        [],
    ),
    # The class has one layer for queries, keys and values, and one for gate and up.
    "adapter_phi3": (
        ["name=phi3", "model.lora.r=4", "model.lora.lora_alpha=6"]
        + ["model.lora.target_modules=[q_proj,v_proj,up_proj,o_proj]"],
        [],
    ),
    "adapter_phi3_all": (["name=phi3", "model.lora.r=3", "model.lora.target_modules=[all-linear]"],
                         []),
}
ARCHITECTURES = {
    "gemma3_text": gguf.MODEL_ARCH.GEMMA3, "gemma2": gguf.MODEL_ARCH.GEMMA2,
    "gemma": gguf.MODEL_ARCH.GEMMA, "qwen2": gguf.MODEL_ARCH.QWEN2,
    "qwen3": gguf.MODEL_ARCH.QWEN3, "phi3": gguf.MODEL_ARCH.PHI3,
}  # any other: that of Llama
JOINED = {"qkv_proj": ("q_proj", "k_proj", "v_proj"), "gate_up_proj": ("gate_proj", "up_proj")}


def s2s(*words) -> None:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        command = " ".join(map(str, words))
        sys.exit(f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")


def load_folder(folder: Path) -> dict:
    index = folder / "model.safetensors.index.json"
    if not index.exists():
        return load_file(folder / "model.safetensors")
    files = sorted(set(json.loads(index.read_text())["weight_map"].values()))
    assert len(files) > 1, files
    return {name: tensor for file in files for name, tensor in load_file(folder / file).items()}


def stored_tensor(stored: dict, name: str):
    ours = name.removeprefix("model.")
    for joined, parts in JOINED.items():
        if f".{joined}." in ours:
            return torch.cat([stored["llm." + ours.replace(joined, part)] for part in parts])
    return stored.get("llm." + ours, stored.get(ours))


def check_readers(folder: Path) -> None:
    """What servers and converters read: the ends of all files agree, and names are known."""
    config = AutoConfig.from_pretrained(folder)
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    assert config.eos_token_id == GenerationConfig.from_pretrained(folder).eos_token_id == 2
    assert config.bos_token_id == 1 and settings["eos_token"] == "</s>"
    vocabulary = gguf.SpecialVocab(folder, n_vocab=config.vocab_size)
    assert vocabulary.special_token_ids["eos"] == 2, vocabulary.special_token_ids
    architecture = ARCHITECTURES.get(config.model_type, gguf.MODEL_ARCH.LLAMA)
    names = gguf.get_tensor_name_map(architecture, config.num_hidden_layers)
    unknown = [name for name in load_folder(folder)
               if names.get_name(name, try_suffixes=(".weight", ".bias")) is None]
    # GGUF has no untied head for Gemma, which has none.
    is_gemma = config.model_type.startswith("gemma")
    assert set(unknown) <= ({"lm_head.weight"} if is_gemma else set()), unknown


def check_weights(folder: Path, checkpoint: Path, has_adapter: bool) -> None:
    stored = load_file(checkpoint / "model.safetensors")
    for name, tensor in load_folder(folder).items():
        if not has_adapter:
            assert torch.equal(tensor, stored_tensor(stored, name)), name


def logits_of(model):
    ids = torch.arange(48).reshape(2, 24) * 7 % model.config.vocab_size
    with torch.no_grad():
        return ids, model(ids).logits


def load_model(folder: Path):
    # Eager attention, because sdpa has no soft cap.
    model, facts = AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True
    )
    problems = {key: names for key, names in facts.items() if names}
    assert not problems, problems
    return model.eval()


def check_logits(run: str, folder: Path, work: Path) -> None:
    ids, logits = logits_of(load_model(folder))
    weights = {"weights/" + name: tensor for name, tensor in load_folder(folder).items()}
    config = (folder / "config.json").read_text()
    tensors = weights | {
        "input/ids": ids,
        "input/mask": torch.ones_like(ids, dtype=torch.bool),
        "output/logits": logits,
    }
    family = {"gemma2": "gemma", "gemma3_text": "gemma", "qwen2": "qwen", "qwen3": "qwen"}
    name = json.loads(config)["model_type"]
    rf.write_reference(work / "export.safetensors", "llm", family.get(name, name), config, tensors)
    s2s(run, "compare", work / "export.safetensors")


def check_adapter(run: str, checkpoint: Path, folder: Path, work: Path) -> None:
    """The adapter on the base model that it names against the merged export."""
    try:
        from peft import AutoPeftModelForCausalLM
    except ImportError as missing:
        print(f"skipped: {missing}; pip install peft")
        sys.exit(77)

    s2s(run, "checkpoint", "export", "--adapter", checkpoint, work / "adapter")
    # No folder has the base of a run that began at random: it is written beside the adapter.
    config = json.loads((work / "adapter/adapter_config.json").read_text())
    base = Path(config["base_model_name_or_path"])
    check_readers(base)
    check_weights(base, checkpoint, False)
    ids, plain = logits_of(load_model(base))
    adapted = AutoPeftModelForCausalLM.from_pretrained(
        work / "adapter", dtype=torch.float32, attn_implementation="eager").eval()
    expected = logits_of(load_model(folder))[1]
    assert (plain - expected).abs().max().item() > 1e-4, "the adapter does nothing"
    with torch.no_grad():
        difference = (adapted(ids).logits - expected).abs().max().item()
    print(f"PEFT's logits beside the merged model's: largest difference {difference:.2e}")
    assert difference < 1e-4


def check(run: str, name: str, data: Path, work: Path) -> None:
    changes, export_words = CASES[name]
    options = [c if c.startswith("model.") else "model.llm." + c for c in changes]
    paths = [f"tiny.data={data}", f"tiny.run={work / 'run'}"]
    training = ["trainer.max_steps=2", "model.optimizer.lr=0.05"]
    training += ["model.lr_scheduler.warmup_steps=0"]
    s2s(run, "train", ROOT / "configs/tiny.yaml", *paths, *training, *options)
    checkpoint, folder = work / "run/checkpoints/last", work / "exported"
    s2s(run, "checkpoint", "export", checkpoint, folder, *export_words)
    has_adapter = name.startswith("adapter")
    check_readers(folder)
    check_weights(folder, checkpoint, has_adapter)
    check_logits(run, folder, work)
    if has_adapter:
        check_adapter(run, checkpoint, folder, work)
    print(f"{name}: ok")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", help="the s2s-run to ask")
    parser.add_argument(
        "--case", action="append", choices=list(CASES), help="default: all without adapters"
    )
    parser.add_argument("--adapters", action="store_true", help="all with adapters")
    args = parser.parse_args()
    logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as folder:
        chosen = [name for name in CASES if name.startswith("adapter") == args.adapters]
        for name in args.case or chosen:
            work = Path(folder) / name
            work.mkdir()
            check(args.run, name, Path(folder) / "data", work)


if __name__ == "__main__":
    main()
