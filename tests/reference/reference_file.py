"""Shared by the scripts in this folder: writing reference files, random weights, noise checks.

A reference file is one safetensors file (see the design document, "Reference files"):
metadata s2s.reference, kind, name, options, rtol, atol; tensors weights/*, input/*, output/*,
grad/*, after/<n>/*. The writer below is our own because the library orders metadata at random;
the same seed must give the same bytes.
"""

import json
import math
import struct
from pathlib import Path

import torch

DTYPES = {
    torch.float32: ("F32", 4),
    torch.int64: ("I64", 8),
    torch.int32: ("I32", 4),
    torch.bool: ("BOOL", 1),
}


def write_safetensors(path: Path, tensors: dict, metadata: dict) -> int:
    """Writes tensors in a fixed order; returns the size in bytes."""
    names = sorted(tensors, key=lambda n: (-DTYPES[tensors[n].dtype][1], n))
    header, blobs, offset = {"__metadata__": dict(sorted(metadata.items()))}, [], 0
    for name in names:
        tensor = tensors[name].detach().cpu().contiguous()
        blob = tensor.numpy().tobytes()
        header[name] = {
            "dtype": DTYPES[tensor.dtype][0],
            "shape": list(tensor.shape),
            "data_offsets": [offset, offset + len(blob)],
        }
        offset += len(blob)
        blobs.append(blob)
    text = json.dumps(header, separators=(",", ":")).encode("ascii")
    text += b" " * (-len(text) % 8)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))
    return path.stat().st_size


def write_reference(path, kind, name, options, tensors, rtol=1e-4, atol=1e-5, more=None) -> int:
    """more: further metadata, text by name."""
    metadata = {
        **(more or {}),
        "s2s.reference": "1",
        "kind": kind,
        "name": name,
        "options": options if isinstance(options, str) else json.dumps(options),
        "rtol": repr(rtol),
        "atol": repr(atol),
    }
    for key, tensor in tensors.items():
        if tensor.is_floating_point() and not torch.isfinite(tensor).all():
            raise ValueError(f"{path}: {key} is not finite")
    return write_safetensors(Path(path), tensors, metadata)


def write_json(path, value) -> int:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(json.dumps(value, ensure_ascii=True, separators=(",", ":")) + "\n")
    return Path(path).stat().st_size


def unique_parameters(module, preferred=("embed_tokens.weight", "model.embed_tokens.weight")):
    """Name -> parameter, shared ones once, under the preferred name where there is one."""
    names = {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        if id(parameter) not in names or name in preferred:
            names[id(parameter)] = (name, parameter)
    return dict(names.values())


def weights_of(module) -> dict:
    """The state dict without the second name of a shared parameter (lm_head of a tied model)."""
    kept = {id(p): n for n, p in unique_parameters(module).items()}
    parameters = dict(module.named_parameters(remove_duplicate=False))
    weights = {}
    for name, tensor in module.state_dict().items():
        if name in parameters and kept[id(parameters[name])] != name:
            continue
        weights[name] = tensor.detach().clone()
    return weights


def randomize(module, seed: int, head_gain=3.0, scale_mean=1.0) -> None:
    """Weights with which every term matters and greedy decisions are clear.

    A tied text embedding is kept small: with a large one a random model repeats its last token.
    """
    parameters = unique_parameters(module)
    is_tied = not any(name.endswith("lm_head.weight") for name in parameters)
    generator = torch.Generator().manual_seed(seed)

    def draw(tensor, mean, std):
        noise = torch.randn(tensor.shape, generator=generator)
        tensor.data.copy_(mean + std * noise)

    for name, parameter in sorted(parameters.items()):
        if "embed" in name and parameter.dim() == 2:
            draw(parameter, 0.0, 0.15 if is_tied and "embed_tokens" in name else 0.5)
        elif parameter.dim() < 2:
            is_scale = name.endswith("weight")
            draw(parameter, scale_mean if is_scale else 0.0, 0.2 if is_scale else 0.1)
        elif "pos_bias" in name or name.endswith(("bias_u", "bias_v")):
            draw(parameter, 0.0, 0.3)
        else:
            gain = head_gain if name.split(".")[-2].endswith("head") else 1.0
            draw(parameter, 0.0, gain / math.sqrt(parameter[0].numel()))
    for name, buffer in sorted(module.named_buffers()):
        if name.endswith("running_mean"):
            draw(buffer, 0.0, 0.2)
        elif name.endswith("running_var"):
            draw(buffer, 0.0, 0.3)
            buffer.data.abs_().add_(0.5)


def nudge(module, seed: int, size=2.0**-24) -> None:
    """Changes every weight by about a rounding error; shows what is mere noise."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in module.parameters():
        noise = torch.randn(parameter.shape, generator=generator)
        parameter.data.mul_(1.0 + size * noise)


def noise_ratio(first: dict, second: dict, rtol: float, atol: float) -> dict:
    """Per tensor: largest difference divided by what the tolerance allows."""
    ratios = {}
    for name, a in first.items():
        if not a.is_floating_point():
            ratios[name] = 0.0 if torch.equal(a, second[name]) else math.inf
            continue
        allowed = atol + rtol * a.abs()
        ratios[name] = ((a - second[name]).abs() / allowed).max().item() if a.numel() else 0.0
    return ratios


def synthetic_audio(num_rows, lengths, seed, sample_rate=16000) -> torch.Tensor:
    """Voice-like tones that glide and swell over a noise floor; zero beyond each length."""
    generator = torch.Generator().manual_seed(seed)
    num_samples = max(lengths)
    time_s = torch.arange(num_samples) / sample_rate
    audio = 0.02 * torch.randn(num_rows, num_samples, generator=generator)
    for row in range(num_rows):
        pitch_hz = 90 + 120 * torch.rand(1, generator=generator)
        for harmonic in (1, 2, 3, 5, 8, 13):
            sway = torch.sin(2 * math.pi * (2 + harmonic / 3) * time_s + row)
            phase = 2 * math.pi * harmonic * (pitch_hz * time_s + 0.5 * sway)
            audio[row] += 0.1 / harmonic * (1.1 + sway) * torch.sin(phase)
        audio[row, lengths[row] :] = 0.0
    return audio


def greedy_margin(logits: torch.Tensor) -> float:
    """Smallest distance between the best and the second best entry of the last axis."""
    top = logits.topk(2, dim=-1).values
    return (top[..., 0] - top[..., 1]).min().item()


def report(path, size, **facts) -> None:
    words = [f"{k}={v:.3g}" if isinstance(v, float) else f"{k}={v}" for k, v in facts.items()]
    print(f"{Path(path).name} {size} bytes", *words, flush=True)
