"""Adapters of PEFT with the keys that choose layers, ranks and scales, read by s2s-run.

    python tests/reference/peft_targets_check.py build/bin/s2s-run

For each case, PEFT makes an adapter with random values. s2s-run starts from it, makes a step with
the rate 0, and exports merged weights, which must be those of PEFT's merge_and_unload. Then s2s-run
makes a new adapter with the same keys, which must have PEFT's tensors. What PEFT refuses, or
computes in another way than s2s can, must be refused by its name. Exit code 77 without peft.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import torch
    from peft import LoraConfig, get_peft_model
    from peft.utils import get_peft_model_state_dict
    from safetensors.torch import load_file
    from transformers import LlamaConfig, LlamaForCausalLM
except ImportError as missing:
    print(f"skipped: {missing}; pip install -r tests/reference/requirements-peers.txt")
    sys.exit(77)

PROGRAM = str(Path(sys.argv[1]).resolve())
FIELD = Path(__file__).resolve().parent.parent / "fixtures/field"
UNSLOTH = (r"(?:.*?(?:language|text).*?(?:self_attn|mlp).*?(?:q_proj|v_proj).*?)|"
           r"(?:\bmodel\.layers\.[\d]{1,}\.(?:self_attn|mlp)\.(?:(?:q_proj|k_proj|gate_proj)))")
CASES = {
    "list": {"target_modules": ["q_proj", "v_proj"]},
    "whole_names": {"target_modules": ["model.layers.1.self_attn.q_proj", "layers.0.mlp.up_proj"]},
    "all_linear": {"target_modules": "all-linear"},
    "pattern": {"target_modules": r".*\.(q_proj|v_proj)"},
    "pattern_of_layers": {"target_modules": r"model\.layers\.1\..*proj"},
    "pattern_of_unsloth": {"target_modules": UNSLOTH},
    "excluded": {"target_modules": "all-linear", "exclude_modules": ["down_proj", "0.mlp.up_proj"]},
    "excluded_by_pattern": {"target_modules": ["q_proj", "k_proj"],
                            "exclude_modules": r".*layers\.0\..*"},
    "one_layer": {"target_modules": ["q_proj", "up_proj"], "layers_to_transform": 1},
    "layers": {"target_modules": ["o_proj"], "layers_to_transform": [0, 1],
               "layers_pattern": "layers"},
    "ranks": {"target_modules": ["q_proj", "v_proj"], "rank_pattern": {"q_proj": 2},
              "alpha_pattern": {r"layers\.1\.self_attn\.v_proj": 3.5}},
    "rank_stabilized": {"target_modules": ["q_proj"], "use_rslora": True,
                        "rank_pattern": {"layers.0.self_attn.q_proj": 8}},
    "no_effect": {"target_modules": ["q_proj"], "fan_in_fan_out": True,
                  "init_lora_weights": "gaussian", "task_type": None, "lora_dropout": 0.25},
}
REFUSED = {
    "dora": ({"target_modules": ["q_proj"], "use_dora": True}, "'use_dora' is true"),
    "biases": ({"target_modules": ["q_proj"], "bias": "lora_only"}, "'bias' is \"lora_only\""),
    "lora_bias": ({"target_modules": ["q_proj"], "lora_bias": True}, "'lora_bias' is true"),
    "saved_head": ({"target_modules": ["q_proj"], "modules_to_save": ["lm_head"]},
                   "'modules_to_save'"),
    "tokens": ({"target_modules": ["q_proj"], "trainable_token_indices": [1, 2]},
               "'trainable_token_indices'"),
    "pissa": ({"target_modules": ["q_proj"], "init_lora_weights": "pissa"},
              "'init_lora_weights' is \"pissa\""),
    "head": ({"target_modules": ["q_proj", "lm_head"]}, "'lm_head' is the module"),
    "embedding": ({"target_modules": ["q_proj", "embed_tokens"]}, "'embed_tokens' is the module"),
}


def base_model():
    torch.manual_seed(1)
    return LlamaForCausalLM(LlamaConfig(
        vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, initializer_range=0.2))


def save_adapter(folder, keys):
    """An adapter on the base model, with random values; the model that PEFT computes with."""
    keys = {"r": 4, "lora_alpha": 6, "task_type": "CAUSAL_LM", **keys}
    model = get_peft_model(base_model(), LoraConfig(**keys))
    generator = torch.Generator().manual_seed(7)
    for name, parameter in model.named_parameters():
        if "lora_" in name:
            with torch.no_grad():
                parameter.copy_(torch.randn(parameter.shape, generator=generator))
    model.save_pretrained(folder)
    return model


def run(folder, words):
    return subprocess.run([PROGRAM, *words], cwd=folder, capture_output=True, text=True)


def write_run(folder):
    base_model().save_pretrained(folder / "base")
    (folder / "text.jsonl").write_text('{"text": "abab"}\n{"text": "ba"}\n')
    (folder / "run.yaml").write_text(f"""
model:
  type: causal_lm
  llm: {{path: base}}
  tokenizer: {{name: hf, path: {FIELD}/tokenizer/tokenizer.json}}
  optimizer: {{name: adamw, lr: 0, weight_decay: 0}}
data: {{train_ds: {{name: text, path: text.jsonl, batch_size: 2, max_seq_len: 16}}}}
trainer: {{max_steps: 1, accelerator: cpu, strategy: {{name: single}}}}
""")


def train(folder, name, lora):
    words = ["train", "run.yaml", f"exp_manager.explicit_log_dir={name}",
             "model.lora=" + json.dumps(lora)]
    return run(folder, words)


def exported(folder, name, options):
    done = run(folder, ["checkpoint", "export", name, f"{name}-out", *options])
    assert done.returncode == 0, done.stderr
    return folder / f"{name}-out"


def check(folder, name, keys):
    theirs = save_adapter(folder / f"{name}-adapter", keys)
    expected_tensors = get_peft_model_state_dict(theirs)
    done = train(folder, name, {"path": f"{name}-adapter"})
    assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}"
    merged = load_file(exported(folder, name, []) / "model.safetensors")
    expected = theirs.merge_and_unload().state_dict()
    worst = max((merged[key] - value).abs().max().item() for key, value in expected.items())
    assert worst < 1e-5, (name, worst)
    # A new adapter, whose block has PEFT's own keys.
    fresh = {"r": 4, "lora_alpha": 6, **keys}
    done = train(folder, f"{name}-new", fresh)
    assert done.returncode == 0, f"{name}: {done.stdout}{done.stderr}"
    ours = exported(folder, f"{name}-new", ["--adapter"])
    tensors = load_file(ours / "adapter_model.safetensors")
    shapes = {key: tuple(value.shape) for key, value in tensors.items()}
    assert shapes == {key: tuple(value.shape) for key, value in expected_tensors.items()}, name
    # What s2s writes is the same adapter for PEFT.
    again = get_peft_model(base_model(), LoraConfig.from_pretrained(ours))
    assert set(get_peft_model_state_dict(again)) == set(shapes), name
    return worst


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_run(folder)
        worst = max(check(folder, case, keys) for case, keys in CASES.items())
        for case, (keys, message) in REFUSED.items():
            save_adapter(folder / f"{case}-adapter", keys)
            done = train(folder, case, {"path": f"{case}-adapter"})
            assert done.returncode != 0 and message in done.stderr + done.stdout, \
                f"{case}: {done.returncode}: {done.stdout}{done.stderr}"
    print(f"ok: {len(CASES)} adapters are PEFT's (largest difference {worst:.1e}), "
          f"{len(REFUSED)} are refused")


main()
