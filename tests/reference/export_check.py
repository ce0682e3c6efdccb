"""Trains four steps, exports the language model, and loads it with transformers.

    python tests/reference/export_check.py build/bin/s2s-run [CONFIG key=value ...]

Checks that from_pretrained finds every tensor, that they are the checkpoint's, and that
`s2s-run compare` computes transformers' logits from the exported folder. With an adapter
(model.lora), checks too that PEFT loads the exported adapter and computes the merged model's
logits.
Exit code 77 where transformers is missing.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import torch
    from safetensors.torch import load_file
    from transformers import AutoModelForCausalLM
except ImportError as missing:
    print(f"skipped: {missing}; pip install transformers safetensors torch")
    sys.exit(77)

import reference_file as rf

ROOT = Path(__file__).resolve().parents[2]


def s2s(*words) -> None:
    subprocess.run([str(word) for word in words], check=True)


def check_weights(folder: Path, checkpoint: Path, has_adapter: bool) -> None:
    exported = load_file(folder / "model.safetensors")
    stored = load_file(checkpoint / "model.safetensors")
    for name, tensor in exported.items():
        ours = name.removeprefix("model.")
        own = stored.get("llm." + ours, stored.get(ours))
        if not has_adapter:
            assert torch.equal(tensor, own), name
    print(f"{len(exported)} tensors as in the checkpoint")


def logits_of(model):
    ids = torch.arange(24).reshape(2, 12) * 7 % model.config.vocab_size
    with torch.no_grad():
        return ids, model(ids).logits


def check_logits(run: str, folder: Path, work: Path) -> None:
    model, facts = AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, output_loading_info=True
    )
    problems = {key: names for key, names in facts.items() if names}
    assert not problems, problems
    ids, logits = logits_of(model.eval())
    weights = {"weights/" + n: t for n, t in load_file(folder / "model.safetensors").items()}
    config = (folder / "config.json").read_text()
    tensors = weights | {
        "input/ids": ids,
        "input/mask": torch.ones_like(ids, dtype=torch.bool),
        "output/logits": logits,
    }
    name = json.loads(config)["model_type"]
    rf.write_reference(work / "export.safetensors", "llm", name, config, tensors)
    s2s(run, "compare", work / "export.safetensors")


def check_adapter(run: str, checkpoint: Path, folder: Path, work: Path) -> None:
    """The adapter on the base model against the merged export."""
    from peft import PeftModel

    s2s(run, "checkpoint", "export", "--adapter", checkpoint, work / "adapter")
    base = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    stored = load_file(checkpoint / "model.safetensors")
    with torch.no_grad():  # the export is merged: the base weights come from the checkpoint
        for name, parameter in base.named_parameters():
            ours = name.removeprefix("model.")
            parameter.copy_(stored.get("llm." + ours, stored.get(ours)))
    ids, plain = logits_of(base.eval())
    adapted = PeftModel.from_pretrained(base, work / "adapter").eval()
    merged = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    expected = logits_of(merged)[1]
    assert (plain - expected).abs().max().item() > 1e-4, "the adapter does nothing"
    with torch.no_grad():
        difference = (adapted(ids).logits - expected).abs().max().item()
    print(f"PEFT's logits beside the merged model's: largest difference {difference:.2e}")
    assert difference < 1e-4


def main() -> None:
    run = sys.argv[1]
    config, *more = sys.argv[2:] or [ROOT / "configs/tiny.yaml"]
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        paths = [f"tiny.data={work / 'data'}", f"tiny.run={work / 'run'}"]
        s2s(run, "train", config, *paths, "trainer.max_steps=4", *more)
        checkpoint, folder = work / "run/checkpoints/last", work / "exported"
        s2s(run, "checkpoint", "export", checkpoint, folder)
        has_adapter = any("lora" in word for word in more)
        check_weights(folder, checkpoint, has_adapter)
        check_logits(run, folder, work)
        if has_adapter:
            check_adapter(run, checkpoint, folder, work)
    print("ok")


if __name__ == "__main__":
    main()
