"""An adapter of PEFT on a small LlamaForCausalLM (peft 0.18, transformers 5.23; CPU, float32).

    python tests/reference/peft_lora.py --out tests/reference/data

peft_lora/              adapter_config.json and adapter_model.safetensors, as save_pretrained writes
peft_lora.safetensors   config    = the text of config.json (metadata)
                        weights/* the model without the adapter
                        input/ids [B,T], output/logits [B,T,V] with the adapter, eval mode
                        grad/*    of the mean of logits * direction, for the adapter's tensors,
                                  under the names of adapter_model.safetensors
                        input/direction [B,T,V]
                        merged/*  weights after merge_and_unload
"""

import argparse
import json
from pathlib import Path

import torch
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

import reference_file as rf


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    config = LlamaConfig(
        vocab_size=40, hidden_size=24, intermediate_size=36, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, initializer_range=0.2, rms_norm_eps=1e-5,
    )
    torch.manual_seed(3)
    model = LlamaForCausalLM(config).eval()
    tensors = {"weights/" + name: value.clone() for name, value in model.state_dict().items()}
    lora = LoraConfig(
        r=3, lora_alpha=12, lora_dropout=0.0, target_modules=["q_proj", "v_proj", "mlp.down_proj"],
        task_type="CAUSAL_LM",
    )
    model = get_peft_model(model, lora)
    generator = torch.Generator().manual_seed(4)
    for name, parameter in model.named_parameters():
        if "lora_" in name:
            with torch.no_grad():
                parameter.copy_(0.3 * torch.randn(parameter.shape, generator=generator))
    ids = torch.randint(0, 40, (2, 7), generator=generator)
    direction = torch.randn(2, 7, 40, generator=generator)
    logits = model(ids).logits
    (logits * direction).mean().backward()
    tensors |= {"input/ids": ids, "input/direction": direction, "output/logits": logits.detach()}
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            tensors["grad/" + name.replace(".default", "")] = parameter.grad
    folder = out / "peft_lora"
    model.save_pretrained(folder)
    (folder / "README.md").unlink(missing_ok=True)
    written = json.loads((folder / "adapter_config.json").read_text())
    written["target_modules"].sort()  # PEFT keeps them in a set
    (folder / "adapter_config.json").write_text(json.dumps(written, indent=2) + "\n")
    (folder / "adapter_model.safetensors").chmod(0o644)
    merged = model.merge_and_unload().state_dict()
    for name in merged:
        if not torch.equal(merged[name], tensors["weights/" + name]):
            tensors["merged/" + name] = merged[name].clone()
    metadata = {"config": config.to_json_string()}
    rf.write_safetensors(out / "peft_lora.safetensors", tensors, metadata)


if __name__ == "__main__":
    main()
