"""Shared by the scripts in this folder: writing reference files, random weights, noise checks.

A reference file is one safetensors file (see the design document, "Reference files"):
metadata s2s.reference, kind, name, options, rtol, atol; tensors weights/*, input/*, output/*,
grad/*, after/<n>/*. The writer below is our own because the library orders metadata at random;
the same seed must give the same bytes.

Files stay small: a tensor that `draw` filled is written as its seed and bounds, a large gradient as
its norm and some elements, a filter bank as what is not zero, and one file of a family has weights
after steps.
"""

import argparse
import gzip
import hashlib
import json
import math
import struct
from pathlib import Path

import numpy
import torch

DTYPES = {
    torch.float32: ("F32", 4),
    torch.int64: ("I64", 8),
    torch.int32: ("I32", 4),
    torch.bool: ("BOOL", 1),
}

# Of a gradient with more elements, the norm and so many of them.
SAMPLE = 256
# The file of each family that has weights after steps; the others have the losses of the steps.
WITH_AFTER = {
    "hf_causal_lm_llama_packed", "hf_csm_next_frame", "hf_moshi_next_frame",
    "nemo_duplex_chunked_conformer_untied", "nemo_duplex_speech_decoder_guided",
    "nemo_duplex_stt_user_text", "nemo_eartts_duplex", "nemo_eartts_gated_subwords",
    "nemo_salm_llama",
}
drawn = {}  # the digest of a tensor -> how it was drawn


def write_gz(path, content: bytes) -> int:
    """Writes golden vectors, compressed; the same content gives the same bytes."""
    with open(path, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(content)
    return Path(path).stat().st_size


def write_json_gz(path, text):
    write_gz(path, text.encode())


def digest(tensor) -> str:
    tensor = tensor.detach().cpu().contiguous()
    values = tensor.numpy().tobytes()
    return hashlib.sha256(repr(tuple(tensor.shape)).encode() + values).hexdigest()


def drawn_tensor(seed: int, low: float, high: float, shape, lengths=None) -> torch.Tensor:
    """A tensor of the metadata `drawn`."""
    numbers = numpy.random.default_rng(seed).uniform(low, high, tuple(shape))
    tensor = torch.from_numpy(numpy.asarray(numbers, dtype=numpy.float32))
    for row, length in enumerate(lengths or []):
        tensor[row, length:] = 0.0
    return tensor


def draw(tensor, seed: int, mean: float, std: float, lengths=None):
    """Fills a float32 tensor with uniform numbers; rows end at their lengths. Any tensor that is
    equal when a file is written is written as the seed and the bounds."""
    reach = math.sqrt(3) * std
    low, high = (float(f"{x:.4g}") for x in (mean - reach, mean + reach))
    how = {"seed": seed, "low": low, "high": high, "shape": list(tensor.shape)}
    if lengths is not None:
        how["lengths"] = list(lengths)
    tensor.data.copy_(drawn_tensor(**how))
    drawn[digest(tensor)] = how
    return tensor


def rescale(tensor, factor: float) -> None:
    """Draws a tensor of mean 0 again, with another deviation."""
    how = drawn[digest(tensor)]
    draw(tensor, how["seed"], 0.0, factor * how["high"] / math.sqrt(3))


def sampled(name, tensor):
    """The elements of a gradient that a file has, and its metadata. Seeds differ by name, so that
    two tensors of one shape are not looked at in the same places."""
    seed = int(hashlib.sha256(name.encode()).hexdigest()[:4], 16)
    places = numpy.random.default_rng(seed).random(SAMPLE) * tensor.numel()
    norm = tensor.double().norm().item()
    how = {"seed": seed, "norm": norm, "shape": list(tensor.shape)}
    return tensor.flatten()[torch.from_numpy(places.astype(numpy.int64))], how


def is_sparse(tensor) -> bool:
    """A filter bank, for example."""
    return tensor.numel() > 1024 and 8 * int(tensor.count_nonzero()) < tensor.numel()


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
    content = struct.pack("<Q", len(text)) + text + b"".join(blobs)
    if path.suffix == ".gz":
        return write_gz(path, content)
    path.write_bytes(content)
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


def write_small(path, kind, name, options, tensors, rtol=1e-4, atol=1e-5, more=None) -> int:
    """write_reference in the form of the files in data/ (see the top of this file)."""
    kept, recipes, samples, sparse = {}, {}, {}, {}
    for key, tensor in sorted(tensors.items()):
        group = key.split("/")[0]
        how = drawn.get(digest(tensor)) if tensor.dtype == torch.float32 else None
        if group == "after" and Path(path).stem not in WITH_AFTER:
            continue
        if how and group in ("weights", "input"):
            recipes[key] = how
        elif group in ("grad", "after") and tensor.numel() > SAMPLE:
            kept[key], samples[key] = sampled(key, tensor)
        elif group == "weights" and is_sparse(tensor):
            places = tensor.flatten().nonzero().squeeze(1)
            kept[key], kept[f"index/{key}"] = tensor.flatten()[places], places.to(torch.int32)
            sparse[key] = {"shape": list(tensor.shape)}
        else:
            kept[key] = tensor
    more = dict(more or {})
    for key, value in (("drawn", recipes), ("sampled", samples), ("sparse", sparse)):
        if value:
            more[key] = json.dumps(value, separators=(",", ":"))
    return write_reference(path, kind, name, options, kept, rtol, atol, more)


def read_tensors(path) -> dict:
    """The tensors of a reference file by name, drawn and sparse ones whole."""
    from safetensors import safe_open

    with safe_open(path, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}
        metadata = file.metadata() or {}
    for name, how in json.loads(metadata.get("drawn", "{}")).items():
        tensors[name] = drawn_tensor(**how)
    for name, how in json.loads(metadata.get("sparse", "{}")).items():
        whole = torch.zeros(how["shape"], dtype=tensors[name].dtype)
        whole.view(-1)[tensors.pop(f"index/{name}").long()] = tensors[name]
        tensors[name] = whole
    return tensors


def write_json(path, value) -> int:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":")) + "\n"
    if str(path).endswith(".gz"):
        write_json_gz(path, text)
    else:
        Path(path).write_text(text)
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
    seeds = iter(range(1000 * seed, 1000 * seed + 1000))
    for name, parameter in sorted(parameters.items()):
        if "embed" in name and parameter.dim() == 2:
            small = is_tied and "embed_tokens" in name
            draw(parameter, next(seeds), 0.0, 0.15 if small else 0.5)
        elif parameter.dim() < 2:
            is_scale = name.endswith("weight")
            draw(parameter, next(seeds), scale_mean if is_scale else 0.0, 0.2 if is_scale else 0.1)
        elif "pos_bias" in name or name.endswith(("bias_u", "bias_v")):
            draw(parameter, next(seeds), 0.0, 0.3)
        else:
            gain = head_gain if name.split(".")[-2].endswith("head") else 1.0
            draw(parameter, next(seeds), 0.0, gain / math.sqrt(parameter[0].numel()))
    for name, buffer in sorted(module.named_buffers()):
        if name.endswith("running_mean"):
            draw(buffer, next(seeds), 0.0, 0.2)
        elif name.endswith("running_var"):
            draw(buffer, next(seeds), 0.75, 0.15)


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


def noise_audio(num_rows, lengths, seed) -> torch.Tensor:
    """Noise that a file holds as its seed; zero beyond each length."""
    return draw(torch.empty(num_rows, max(lengths)), seed, 0.0, 0.15, lengths)


def greedy_margin(logits: torch.Tensor) -> float:
    """Smallest distance between the best and the second best entry of the last axis."""
    top = logits.topk(2, dim=-1).values
    return (top[..., 0] - top[..., 1]).min().item()


def report(path, size, **facts) -> None:
    words = [f"{k}={v:.3g}" if isinstance(v, float) else f"{k}={v}" for k, v in facts.items()]
    print(f"{Path(path).name} {size} bytes", *words, flush=True)


def run_cases(doc: str, cases, make) -> None:
    """The command line of a script that makes a file of each case: make(name, folder)."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--out", default=str(Path(__file__).parent / "data"))
    parser.add_argument("--case", action="append", choices=sorted(cases))
    parser.add_argument("--list", action="store_true", help="names only")
    args = parser.parse_args()
    if args.list:
        print("\n".join(sorted(cases)))
        return
    for name in args.case or cases:
        make(name, args.out)
