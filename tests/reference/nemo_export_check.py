"""Trains NeMo's own YAML files here, exports them, and opens each folder with NeMo's class.

    python tests/reference/nemo_export_check.py build/bin/s2s-run [--case NAME]

The files are those of tests/cli/train/nemo_configs, with small sizes and the parts of this machine.
The exported config.json has every number that the YAML has, no null that NeMo's class computes
with, and the special tokens of the run; from_pretrained finds every tensor.
nemo_interchange_check.py compares numbers. Exit code 77 where NeMo is missing.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    from nemo.collections import speechlm2  # noqa: F401
    from safetensors.torch import load_model
except ImportError as missing:
    print(f"skipped: {missing}; pip install -r tests/reference/requirements-nemo.txt")
    sys.exit(77)

import nemo_classes as nc

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests/reference/data"
LLM = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 32,
       "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2,
       "vocab_size": 1000}
SIZES = ("={hidden_size: 16, intermediate_size: 32, num_hidden_layers: 1, num_attention_heads: 2,"
         " num_key_value_heads: 2, head_dim: 8, attention_dropout: 0.1}")
SET = "data.validation_ds.datasets.val_set_0."
# YAML -> our type, and changes. {llm}, {cuts} and {dev} are places of this machine.
CASES = {
    "duplex_eartts": ("duplex_eartts", [
        "model.pretrained_lm_name={llm}", "model.pretrained_audio_codec=null",
        "model.pad_token=<unk>", "model.codec_config.base_hidden_size=8",
        "model.tts_config.backbone_config" + SIZES,
        "model.tts_config.cas_config.backbone_config.encoder" + SIZES,
        "model.tts_config.mog_head_config={intermediate_size: 16, num_layers: 1, low_rank: 4,"
        " num_predictions: 8}",
        "~model.scoring_asr", "~data.train_ds.input_cfg", "data.train_ds.cuts_path={cuts}",
        f"~{SET}shar_path", f"{SET}cuts_path={{dev}}"]),
    "duplex_stt": ("duplex_stt", [
        "model.pretrained_llm={llm}", "model.pretrained_asr={asr}",
        "model.perception.modality_adapter.d_model=16",
        "~model.scoring_asr", "~data.train_ds.input_cfg", "data.train_ds.cuts_path={cuts}",
        f"~{SET}shar_path", f"{SET}cuts_path={{dev}}"]),
    "salm_automodel": ("salm", [
        "model.pretrained_llm={llm}", "model.pretrained_asr={asr}", "model.prompt_format=llama2",
        "model.perception.modality_adapter.d_model=16", "~model.perception.output_dim",
        "model.lr_scheduler.warmup_steps=1", "data.train_ds.input_cfg.0.cuts_path={cuts}",
        f"{SET}input_cfg.0.cuts_path={{dev}}"]),
}
#: Null is what NeMo's own files have there, or what its classes ask for.
MAY_BE_NULL = {"pretrained_asr", "pretrained_lm_name", "context_hidden_size",
               "backbone_model_class", "backbone_config_class", "prompt_format", "normalize",
               "mel_norm", "preemph"}


def s2s(*words) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        command = " ".join(map(str, words))
        sys.exit(f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def make_set(run: str, work: Path) -> dict:
    """Speech and a language model's folder, as places by name."""
    s2s(run, "train", ROOT / "configs/tiny.yaml", f"tiny.data={work / 'data'}",
        f"tiny.run={work / 'tiny'}", "trainer.max_steps=1", "model.lr_scheduler.warmup_steps=0")
    llm = work / "llm"
    llm.mkdir()
    (llm / "config.json").write_text(json.dumps(LLM))
    shutil.copy(DATA / "hf_tokenizer_tinyllama.json", llm / "tokenizer.json")
    (llm / "tokenizer_config.json").write_text(json.dumps(
        {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>",
         "unk_token": "<unk>"}))
    return {"llm": llm, "asr": DATA / "archive.nemo", "cuts": work / "data/train.jsonl",
            "dev": work / "data/dev.jsonl"}


def nulls(node, path="") -> list:
    if isinstance(node, dict):
        return [n for key, value in node.items() for n in nulls(value, f"{path}.{key}")]
    return [path] if node is None and path.rsplit(".", 1)[-1] not in MAY_BE_NULL else []


def at_places(change: str, places: dict) -> str:
    for key, path in places.items():
        change = change.replace("{" + key + "}", str(path))
    return change


def check(run: str, case: str, places: dict, work: Path) -> None:
    name, changes = CASES[case]
    yaml = ROOT / f"tests/cli/train/nemo_configs/{case}.yaml"
    short = ["trainer.accelerator=cpu", "trainer.devices=1", "trainer.precision=32",
             "trainer.max_steps=2", "trainer.limit_train_batches=2", "trainer.val_check_interval=2",
             "trainer.limit_val_batches=1", "model.pretrained_weights=false",
             f"exp_manager.explicit_log_dir={work / case}"]
    s2s(run, "train", yaml, *short, *(at_places(c, places) for c in changes))
    folder = work / f"{case}-nemo"
    s2s(run, "checkpoint", "export", "--nemo", work / case, folder)
    config = json.loads((folder / "config.json").read_text())
    assert not nulls(config), nulls(config)
    if name == "duplex_eartts":
        rates = [config["data"][f"{side}_sample_rate"] for side in ("source", "target")]
        assert rates == [22050, 22050] and config["data"]["frame_length"] == 0.08, config["data"]
        assert config["model"]["pad_token"] == "<unk>", config["model"]
    model = nc.class_of(name).from_pretrained(str(folder))
    missing, unexpected = load_model(model, folder / "model.safetensors", strict=False)
    assert not missing and not unexpected, (missing, unexpected)
    ids = [getattr(model, f"text_{kind}_id") for kind in ("bos", "eos", "pad")]
    assert ids == [1, 2, 0], ids
    print(f"{case}: {len(model.state_dict())} tensors, special ids {ids}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", help="the s2s-run to ask")
    parser.add_argument("--case", action="append", choices=list(CASES))
    args = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory() as name:
        work = Path(name).resolve()
        places = make_set(args.run, work)
        for case in args.case or CASES:
            check(args.run, case, places, work)


if __name__ == "__main__":
    main()
