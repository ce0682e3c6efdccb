"""Training steps of transformers or plain PyTorch on what `s2s-run bench llm --export` wrote.

    s2s-run bench llm --preset 1.1b --device gpu --precision bf16-true --export FOLDER
    peer/bin/python tests/benchmark/gpu_peer.py FOLDER --variant eager [--device auto|cpu|cuda]

The same weights, batch, precision, optimizer, clipping and recomputation as ours. Prints one line
of JSON. Runs on a CPU, too. Variants:

  eager          LlamaForCausalLM (or what config.json names) of transformers, attention by SDPA
  compile        the same under torch.compile
  plain          a Llama without transformers: F.rms_norm, SDPA with enable_gqa, the loss in chunks
                 of rows, whose logits are made again in the backward pass
  plain-compile  the same under torch.compile

  losses, gradient_norm  loss of the first and the last step; gradient norm of the first step
  step_s                 median, 10 % and 90 %, timed by events without waits between steps
  waited_step_s          the same with a wait after each step
  mfu                    TFLOP/s of the model's products: 6 for each weight and token, and attention
                         over all pairs (12 L H S) or the causal half (6 L H S)
"""

import argparse
import contextlib
import json
import math
import resource
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import nn
from torch.utils.checkpoint import checkpoint

VARIANTS = ["eager", "compile", "plain", "plain-compile"]
LOGITS_OF_CHUNK = 2**28  # of the plain loss


def fail(what: str) -> None:
    sys.exit(f"error: [benchmark/peer] {what}")


# A Llama on PyTorch alone. Shape letters: B rows, T positions, N = B * T, H hidden, D head size.


class PlainAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads, self.kv_heads = config.num_attention_heads, config.num_key_value_heads
        self.head_dim = config.head_dim or config.hidden_size // self.heads
        hidden = config.hidden_size
        self.q_proj = nn.Linear(hidden, self.heads * self.head_dim, bias=False)
        self.k_proj = nn.Linear(hidden, self.kv_heads * self.head_dim, bias=False)
        self.v_proj = nn.Linear(hidden, self.kv_heads * self.head_dim, bias=False)
        self.o_proj = nn.Linear(self.heads * self.head_dim, hidden, bias=False)

    def split(self, x, count):
        return x.view(*x.shape[:2], count, self.head_dim).transpose(1, 2)

    def forward(self, x, cos, sin):
        q = rotate(self.split(self.q_proj(x), self.heads), cos, sin)
        k = rotate(self.split(self.k_proj(x), self.kv_heads), cos, sin)
        v = self.split(self.v_proj(x), self.kv_heads)
        grouped = self.heads != self.kv_heads
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=grouped)
        return self.o_proj(y.transpose(1, 2).flatten(2))


def rotate(x, cos, sin):
    low, high = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-high, low), dim=-1) * sin


class PlainMlp(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class PlainNorm(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(config.hidden_size))
        self.eps = config.rms_norm_eps

    def forward(self, x):
        return F.rms_norm(x, self.weight.shape, self.weight.to(x.dtype), self.eps)


class PlainLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.input_layernorm, self.post_attention_layernorm = PlainNorm(config), PlainNorm(config)
        self.self_attn, self.mlp = PlainAttention(config), PlainMlp(config)

    def forward(self, x, cos, sin):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin)
        return x + self.mlp(self.post_attention_layernorm(x))


class PlainLlama(nn.Module):
    """Parameters have the names of transformers without "model."; every: recompute every n-th."""

    def __init__(self, config, every: int):
        super().__init__()
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(PlainLayer(config) for _ in range(config.num_hidden_layers))
        self.norm = PlainNorm(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        if config.tie_word_embeddings:
            self.lm_head.weight = self.embed_tokens.weight
        self.every = every

    def forward(self, ids, labels, cos, sin):
        x = self.embed_tokens(ids)
        cos, sin = cos.to(x.dtype), sin.to(x.dtype)
        for number, layer in enumerate(self.layers):
            if self.every and number % self.every == 0:
                x = checkpoint(layer, x, cos, sin, use_reentrant=False)
            else:
                x = layer(x, cos, sin)
        return self.loss(self.norm(x).flatten(0, 1), labels.flatten())

    def loss(self, x_NH, labels_N):
        def of_chunk(x, labels):
            return F.cross_entropy(self.lm_head(x).float(), labels, reduction="sum")

        rows = max(1, LOGITS_OF_CHUNK // self.lm_head.out_features)
        total = 0.0
        for x, labels in zip(x_NH.split(rows), labels_N.split(rows)):
            total = total + checkpoint(of_chunk, x, labels, use_reentrant=False)
        return total / labels_N.numel()


def recomputed_every(recompute: str) -> int:
    if recompute in ("none", "full"):
        return int(recompute == "full")
    if recompute.startswith("every:"):
        return int(recompute.removeprefix("every:"))
    return fail(f"the peers cannot recompute {recompute}; use none, full or (plain) every:N")


def make_plain(folder: Path, config, settings: dict, dtype, device):
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    if config.model_type != "llama":
        fail(f"the plain model is a Llama; {folder} holds a '{config.model_type}' model")
    model = PlainLlama(config, recomputed_every(settings["recompute"])).to(device, dtype)
    weights = {}
    for file in sorted(folder.glob("model*.safetensors")):
        weights.update(load_file(file))
    weights = {name.removeprefix("model."): tensor for name, tensor in weights.items()}
    missing = model.load_state_dict(weights, strict=False)
    allowed = {"lm_head.weight"} if config.tie_word_embeddings else set()
    if missing.unexpected_keys or set(missing.missing_keys) - allowed:
        fail(f"other weights than the plain model's: {missing}")
    return model, LlamaRotaryEmbedding(config).to(device)


def make_transformers(folder: Path, config, settings: dict, dtype, device):
    from transformers import AutoModelForCausalLM

    every = recomputed_every(settings["recompute"])
    if every > 1:
        fail("transformers recomputes every layer or none; use --variant plain for every:N")
    model = AutoModelForCausalLM.from_pretrained(
        folder, config=config, dtype=dtype, attn_implementation="sdpa"
    ).to(device)
    model.config.use_cache = False
    if every == 1:
        model.gradient_checkpointing_enable({"use_reentrant": False})
    return model


class Training:
    """A variant's model, and one step of it."""

    def __init__(self, args, settings: dict, device: torch.device):
        from transformers import AutoConfig

        folder = Path(args.folder)
        self.settings, self.device = settings, device
        self.config = AutoConfig.from_pretrained(folder)
        dtype = torch.bfloat16 if settings["precision"] == "bf16-true" else torch.float32
        batch = load_file(folder / "batch.safetensors")
        ids, labels = batch["input_ids"].to(device), batch["labels"].to(device)
        self.batch_size, self.positions = ids.shape
        if args.variant.startswith("plain"):
            self.model, rotary = make_plain(folder, self.config, settings, dtype, device)
            places = torch.arange(self.positions, device=device)[None]
            cos, sin = rotary(torch.zeros(1, dtype=torch.float32, device=device), places)
            self.inputs = (ids, labels, cos, sin)
        else:
            self.model = make_transformers(folder, self.config, settings, dtype, device)
            # Labels are the tokens that follow: transformers must not shift them again.
            self.inputs = {
                "input_ids": ids,
                "labels": labels,
                "shift_labels": labels,
                "use_cache": False,
            }
        self.model.train()
        compiled = args.variant.endswith("compile")
        self.runner = torch.compile(self.model, mode=args.mode) if compiled else self.model
        options = dict(settings["optimizer"])
        options["betas"] = tuple(options["betas"])
        self.optimizer = torch.optim.AdamW(self.model.parameters(), fused=True, **options)

    def loss(self):
        mixed = self.settings["precision"] == "bf16-mixed"
        scope = (
            torch.autocast(self.device.type, torch.bfloat16) if mixed else contextlib.nullcontext()
        )
        with scope:
            if isinstance(self.inputs, tuple):
                return self.runner(*self.inputs)
            return self.runner(**self.inputs).loss

    def forward_backward(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss()
        loss.backward()
        return loss.detach()

    def gradient_norm(self) -> float:
        norms = [p.grad.float().norm() for p in self.model.parameters() if p.grad is not None]
        return float(torch.stack(norms).double().norm())

    def update(self) -> None:
        if self.settings["clip"] > 0:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.settings["clip"])
        self.optimizer.step()

    def step(self):
        loss = self.forward_backward()
        self.update()
        return loss

    def attention(self) -> str:
        """What SDPA takes for the layers' shapes."""
        from torch.nn.attention import SDPBackend

        c = self.config
        dim = getattr(c, "head_dim", None) or c.hidden_size // c.num_attention_heads
        full = self.settings["precision"] == "32-true"
        options = {"device": self.device, "dtype": torch.float32 if full else torch.bfloat16}
        shape = lambda heads: (self.batch_size, heads, self.positions, dim)
        q = torch.empty(shape(c.num_attention_heads), **options).requires_grad_()
        k = torch.empty(shape(c.num_key_value_heads), **options).requires_grad_()
        grouped = c.num_attention_heads != c.num_key_value_heads
        choice = torch._fused_sdp_choice(q, k, k, None, 0.0, True, enable_gqa=grouped)
        return next(
            (name for name, one in SDPBackend.__members__.items() if int(one) == choice),
            str(choice),
        ).lower()

    def teraflops(self, step_s: float) -> dict:
        c = self.config
        dim = getattr(c, "head_dim", None) or c.hidden_size // c.num_attention_heads
        queries, keys = c.num_attention_heads * dim, c.num_key_value_heads * dim
        layer = c.hidden_size * (2 * queries + 2 * keys + 3 * c.intermediate_size)
        weights = c.num_hidden_layers * layer + c.hidden_size * c.vocab_size
        pairs = c.num_hidden_layers * queries * self.positions
        rate = 1e-12 * self.batch_size * self.positions / step_s
        return {
            "teraflops_full": rate * (6 * weights + 12 * pairs),
            "teraflops_causal": rate * (6 * weights + 6 * pairs),
        }


class Stamp:
    """A point in time: an event where the device has a queue, else the host's clock."""

    def __init__(self, device: torch.device):
        self.host_s, self.event = time.perf_counter(), None
        if device.type != "cpu":
            self.event = torch.Event(device.type, enable_timing=True)
            self.event.record()

    def since(self, earlier: "Stamp") -> float:
        if self.event is None:
            return self.host_s - earlier.host_s
        earlier.event.synchronize()
        self.event.synchronize()
        return 1e-3 * earlier.event.elapsed_time(self.event)


def wait(device: torch.device) -> None:
    if device.type != "cpu":
        torch.accelerator.synchronize()


def spread(seconds: list[float]) -> dict:
    values = sorted(seconds)

    def at(share: float) -> float:
        place = share * (len(values) - 1)
        low, high = math.floor(place), math.ceil(place)
        return values[low] + (place - low) * (values[high] - values[low])

    return {"median": at(0.5), "p10": at(0.1), "p90": at(0.9)}


def memory(device: torch.device) -> dict:
    out = {"resident_peak": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}
    if device.type != "cpu":
        out["allocated_peak"] = torch.accelerator.max_memory_allocated()
        out["reserved_peak"] = torch.accelerator.max_memory_reserved()
    return out


def measure(training: Training, steps: int, warm_up: int) -> dict:
    device = training.device
    begin = time.perf_counter()
    first = float(training.forward_backward())
    norm = training.gradient_norm()
    training.update()
    for _ in range(warm_up - 1):
        training.step()
    wait(device)
    start_s = time.perf_counter() - begin
    if device.type != "cpu":
        torch.accelerator.reset_peak_memory_stats()
    stamps = [Stamp(device)]
    for _ in range(steps):
        last = training.step()
        stamps.append(Stamp(device))
    times = [after.since(before) for before, after in zip(stamps, stamps[1:])]
    result = {"losses": [first, float(last)], "gradient_norm": norm, "step_s": spread(times)}
    peaks = memory(device)
    waited = []
    for _ in range(steps):
        wait(device)
        start = time.perf_counter()
        training.step()
        wait(device)
        waited.append(time.perf_counter() - start)
    tokens = training.batch_size * training.positions
    median = result["step_s"]["median"]
    return result | {
        "waited_step_s": spread(waited),
        "tokens_per_s": tokens / median,
        "mfu": training.teraflops(median),
        "memory_bytes": peaks,
        "warm_up_s": start_s,  # compilation included
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="what `bench llm --export` wrote")
    parser.add_argument("--variant", choices=VARIANTS, default="eager")
    parser.add_argument("--device", default="auto", help="auto, cpu, or a name of torch's")
    parser.add_argument("--mode", default="default", help="of torch.compile")
    parser.add_argument("--steps", type=int, help="default: as exported")
    parser.add_argument("--warm-up", type=int, help="default: as exported")
    args = parser.parse_args()
    settings = json.loads((Path(args.folder) / "bench.json").read_text())
    found = torch.accelerator.current_accelerator()
    chosen = str(found or "cpu") if args.device in ("auto", "gpu") else args.device
    device = torch.device(chosen)
    training = Training(args, settings, device)
    figures = measure(
        training, args.steps or settings["steps"], args.warm_up or settings["warm_up"]
    )
    facts = {
        "variant": args.variant,
        "device": str(device),
        "threads": torch.get_num_threads(),
        "precision": settings["precision"],
        "num_parameters": sum(p.numel() for p in training.model.parameters()),
        "batch_size": training.batch_size,
        "positions": training.positions,
        "attention": training.attention(),
        "torch": torch.__version__,
    }
    if device.type == "cuda":
        facts["device_name"] = torch.cuda.get_device_name(device)
    print(json.dumps(facts | figures), flush=True)


if __name__ == "__main__":
    main()
