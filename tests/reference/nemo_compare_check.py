"""Runs nemo_compare.py on what its users have: NeMo's own YAML, and a folder of save_pretrained.

    python tests/reference/nemo_compare_check.py build/bin/s2s-run

The YAML is NeMo's salm.yaml: the perception comes from the archive of pretrained_asr, numbers are
written as 1e-6, and values refer to each other. The folder is what NeMo's class of that YAML
writes. Losses and gradients of one step must be equal in both.
Exit code 77 where NeMo is missing.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import torch
    from nemo.collections import speechlm2  # noqa: F401
    from omegaconf import OmegaConf
    from transformers import LlamaConfig, LlamaForCausalLM
except ImportError as missing:
    print(f"skipped: {missing}; pip install -r tests/reference/requirements-nemo.txt")
    sys.exit(77)

import nemo_classes as nc
import nemo_model

HERE = Path(__file__).resolve().parent
TOKENS = {"bos": 1, "eos": 2, "pad": 0}
# examples/speechlm2/conf/salm.yaml, with the parts of this machine.
SALM = """
model:
  pretrained_llm: {llm}
  pretrained_asr: {asr}
  pretrained_weights: true
  freeze_params: ["^llm\\\\..+$", "^perception\\\\.preprocessor\\\\..+$"]
  prevent_freeze_params: []
  prompt_format: llama2
  audio_locator_tag: "<|audioplaceholder|>"
  perception:
    target: nemo.collections.speechlm2.modules.perception.AudioPerceptionModule
    modality_adapter:
      _target_: nemo.collections.speechlm2.modules.perception.IdentityConnector
      d_model: {d_model}
  optimizer: {{_target_: torch.optim.AdamW, lr: 5e-4, betas: [0.9, 0.98], weight_decay: 1e-3}}
  lr_scheduler:
    _target_: nemo.core.optim.lr_scheduler.CosineAnnealing
    warmup_steps: 0
    min_lr: 1e-6
    max_steps: ${{trainer.max_steps}}
trainer: {{max_steps: 1000000, gradient_clip_val: 1.0}}
"""


def write_language_model(folder: Path) -> None:
    torch.manual_seed(5)
    config = LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
                         num_attention_heads=4, num_key_value_heads=2, tie_word_embeddings=True)
    LlamaForCausalLM(config).save_pretrained(folder)
    nemo_model.write_tokenizer(folder, 60, TOKENS)


def compare(run: str, what: Path) -> None:
    words = [sys.executable, str(HERE / "nemo_compare.py"), run, str(what)]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0 or "grad/" not in done.stdout:
        sys.exit(f"{' '.join(words)}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    print(f"{what.name}: {done.stdout.strip().splitlines()[-1]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", help="the s2s-run to ask")
    args = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    archive = HERE / "data/archive.nemo"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_language_model(folder / "llm")
        yaml = folder / "salm.yaml"
        yaml.write_text(SALM.format(llm=folder / "llm", asr=archive, d_model=16))
        compare(args.run, yaml)
        block = OmegaConf.to_container(OmegaConf.load(yaml), resolve=True)["model"]
        torch.manual_seed(7)
        nc.class_of("salm")(json.loads(json.dumps(block))).save_pretrained(folder / "saved")
        compare(args.run, folder / "saved")


if __name__ == "__main__":
    main()
