"""Time and memory of NVIDIA NeMo's DuplexS2SModel with 41 million or 1.2 billion parameters.

    python tests/benchmark/nemo_duplex_bench.py --steps 10 --threads 2 --precision 32
    python tests/benchmark/nemo_duplex_bench.py --size 1.1b --device cuda --precision bf16-mixed \\
        --batch-size 8 --seconds 20
    python tests/benchmark/nemo_duplex_bench.py --write-options options.json [--size 1.1b]

Prints one JSON object. The model is described by the same `options` object that reference files
carry (tests/reference), so another program can build the identical one from --write-options.
Random weights, random audio, random codes; the same batch and shapes each step. The codec is not
part of it. A step is zero_grad, forward with loss, backward, clipping, AdamW, schedule. On a GPU
steps are timed by events, the host waits for nothing between them that NeMo does not wait for, and
device_memory_bytes has the peaks after the first step.

  start_to_first_step_s  from the start of the process (imports included) to the end of step one
  step_s                 median and all, the first step left out; forward, backward, optimizer:
                         medians of the three parts (optimizer includes zero_grad and clipping)
  generate_frame_ms      greedy offline_inference, per frame of the whole batch, encoder included;
                         the second answer. first_generate_frame_ms: the first one
  peak_memory_bytes      largest resident size of the process; memory_after_imports_bytes besides
  --processor-time       all times are what the main thread (start_to_first_step_s: the process) has
                         computed, not what has passed: for one thread on a busy machine
  load_average           of the last minute: above --threads, a neighbor was busy and the times are
                         noise (two threads may then be ten times slower; compare `min`, or run
                         with OMP_WAIT_POLICY=PASSIVE or --threads 1)
"""

import argparse
import contextlib
import json
import os
import resource
import statistics
import sys
import time
from pathlib import Path

STARTED = time.time()
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "reference"))
import nemo_duplex_cases as cases

SAMPLE_RATE, FRAME_SAMPLES = 16000, 1280
VOCAB = 4096


# Of the backbone, and of the encoder.
SIZES = {
    "41m": (
        {
            "hidden_size": 512,
            "intermediate_size": 1408,
            "num_attention_heads": 8,
            "num_key_value_heads": 8,
            "num_hidden_layers": 8,
            "vocab_size": VOCAB,
        },
        {"n_layers": 4, "d_model": 256, "n_heads": 4},
    ),
    # TinyLlama with the sizes of FastConformer large, which has 0.1 billion parameters.
    "1.1b": (
        {
            "hidden_size": 2048,
            "intermediate_size": 5632,
            "num_attention_heads": 32,
            "num_key_value_heads": 4,
            "num_hidden_layers": 22,
            "vocab_size": 32000,
        },
        {"n_layers": 17, "d_model": 512, "n_heads": 8},
    ),
}


def bench_options(max_steps, size="41m") -> dict:
    backbone, layers = SIZES[size]
    encoder = cases.encoder(
        **{
            **cases.STREAMING,
            **layers,
            "feat_in": 80,
            "subsampling_conv_channels": 256,
            "ff_expansion_factor": 4,
            "att_context_size": [70, 1],
            "pos_emb_max_len": 5000,
        }
    )
    options = cases.options(
        pre=cases.preprocessor(normalize="NA", features=80),
        enc=encoder,
        adapter=cases.identity_adapter(layers["d_model"]),
        llm=cases.llm_config(head_dim=64, max_position_embeddings=2048, **backbone),
        codec={"num_codebooks": 4, "codebook_size": 1024},
        optimizer={"lr": 3e-4, "eps": 1e-8},
        lr_scheduler={"warmup_steps": 0, "min_lr": 1e-6, "max_steps": max_steps},
    )
    options["model"]["perception"]["output_dim"] = backbone["hidden_size"]
    options["trainer"]["max_steps"] = max_steps
    return options


def make_inputs(batch_size, seconds) -> dict:
    """Noise as audio, random codes, one turn with text in the second half of each row."""
    import torch

    generator = torch.Generator().manual_seed(1)
    num_samples = round(seconds * SAMPLE_RATE)
    num_frames = (num_samples + FRAME_SAMPLES // 2) // FRAME_SAMPLES
    tokens = torch.full((batch_size, num_frames), cases.PAD)
    begin, end = num_frames // 2, num_frames - 4
    words = torch.randint(5, VOCAB, (batch_size, (end - begin) // 3), generator=generator)
    tokens[:, begin] = cases.BOS
    tokens[:, begin + 1 : begin + 1 + words.shape[1]] = words
    tokens[:, end] = cases.EOS
    return {
        "source_audio": 0.1 * torch.randn(batch_size, num_samples, generator=generator),
        "source_audio_lens": torch.full((batch_size,), num_samples),
        "target_tokens": tokens,
        "codes": torch.randint(1024, (batch_size, 4, num_frames), generator=generator),
        "code_lens": torch.full((batch_size,), num_frames),
    }


now = time.perf_counter


def memory_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def process_age_s() -> float:
    """Seconds since the process began; since this file began where /proc is missing."""
    with contextlib.suppress(OSError):
        started_ticks = int(Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[19])
        uptime_s = float(Path("/proc/uptime").read_text().split()[0])
        return uptime_s - started_ticks / os.sysconf("SC_CLK_TCK")
    return time.time() - STARTED


class Stamp:
    """A point in time: an event in the device's queue, or the host's clock."""

    def __init__(self, device):
        self.host_s, self.event = now(), None
        if device.type != "cpu":
            import torch

            self.event = torch.Event(device.type, enable_timing=True)
            self.event.record()

    def since(self, earlier) -> float:
        if self.event is None:
            return self.host_s - earlier.host_s
        earlier.event.synchronize()
        self.event.synchronize()
        return 1e-3 * earlier.event.elapsed_time(self.event)


def wait(device) -> None:
    if device.type != "cpu":
        import torch

        torch.accelerator.synchronize()


def train(model, batch, steps, clip, autocast) -> dict:
    import torch

    device = batch["source_audio"].device
    setup = model.configure_optimizers()
    optimizer, scheduler = setup["optimizer"], setup["lr_scheduler"]["scheduler"]
    trainable = [p for group in optimizer.param_groups for p in group["params"]]
    all_stamps, first_s = [], 0.0
    for step in range(steps + 1):
        fresh = {k: v.clone() for k, v in batch.items()}
        stamps = [Stamp(device)]
        optimizer.zero_grad()
        stamps.append(Stamp(device))
        with autocast():
            loss = model.training_step(fresh, step)["loss"]
        stamps.append(Stamp(device))
        model.backward(loss)
        stamps.append(Stamp(device))
        torch.nn.utils.clip_grad_norm_(trainable, clip)
        optimizer.step()
        scheduler.step()
        stamps.append(Stamp(device))
        last = loss.detach()
        if step > 0:
            all_stamps.append(stamps)
            continue
        first = last.item()
        wait(device)
        first_s = process_age_s() if now is time.perf_counter else time.process_time()
        if device.type != "cpu":
            torch.accelerator.reset_peak_memory_stats()
    parts = {"forward": [], "backward": [], "optimizer": []}
    for stamps in all_stamps:
        zeroing, forward, backward, rest = (b.since(a) for a, b in zip(stamps, stamps[1:]))
        for name, value in zip(parts, (forward, backward, zeroing + rest)):
            parts[name].append(value)
    return {"parts": parts, "losses": [first, last.item()], "first_s": first_s}


def device_memory(device) -> dict:
    if device.type == "cpu":
        return {}
    import torch

    peaks = {"allocated_peak": torch.accelerator.max_memory_allocated(),
             "reserved_peak": torch.accelerator.max_memory_reserved()}
    return {"device_memory_bytes": peaks, "device_name": torch.cuda.get_device_name(device)}


def generate_ms(model, batch, autocast) -> float:
    model.eval()
    wait(batch["source_audio"].device)
    begin = now()
    with autocast():
        result = model.offline_inference(
            batch["source_audio"].clone(), batch["source_audio_lens"].clone(), decode_audio=False
        )
    wait(batch["source_audio"].device)
    return 1000 * (now() - begin) / result["tokens_text"].shape[1]


def bench(args) -> dict:
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    try:
        import torch
        from nemo_model import batch_of, build_duplex, give_codes
    except ImportError as error:
        sys.exit(f"error: [benchmark/nemo] NeMo cannot be imported: {error}; --write-options works "
                 "without it")
    if args.device == "cuda" and not torch.cuda.is_available():
        sys.exit("error: [benchmark/device] --device cuda, but torch sees no GPU; use cpu")
    device = torch.device(args.device, 0 if args.device == "cuda" else None)
    torch.set_num_threads(args.threads)
    torch.manual_seed(0)
    after_imports = memory_bytes()
    options = bench_options(args.max_steps, args.size)
    model = build_duplex(options).to(device)
    inputs = make_inputs(args.batch_size, args.seconds)
    give_codes(model, inputs["codes"].to(device), inputs["code_lens"].to(device))
    batch = {name: tensor.to(device) for name, tensor in batch_of(inputs).items()}

    def autocast():
        mixed = args.precision == "bf16-mixed"
        return torch.autocast(device.type, torch.bfloat16) if mixed else contextlib.nullcontext()

    result = train(model, batch, args.steps, options["trainer"]["gradient_clip_val"], autocast)
    train_memory, on_device = memory_bytes(), device_memory(device)
    parts = result["parts"]
    steps = [sum(values) for values in zip(*parts.values())]
    return {
        "start_to_first_step_s": result["first_s"],
        "step_s": {"median": statistics.median(steps), "min": min(steps), "all": steps},
        "parts_s": {name: statistics.median(values) for name, values in parts.items()},
        "first_generate_frame_ms": generate_ms(model, batch, autocast),
        "generate_frame_ms": generate_ms(model, batch, autocast),
        "peak_memory_bytes": train_memory,
        "memory_after_imports_bytes": after_imports,
        "num_parameters": sum(p.numel() for p in model.parameters() if p.requires_grad),
        "batch_size": args.batch_size,
        "seconds": args.seconds,
        "threads": args.threads,
        "precision": args.precision,
        "processor_time": args.processor_time,
        "size": args.size,
        "device": str(device),
        "losses": result["losses"],
        "load_average": os.getloadavg()[0],
        "torch": torch.__version__,
    } | on_device


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=10, help="timed steps, after a first one")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--precision", choices=["32", "bf16-mixed"], default="32")
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--processor-time", action="store_true", help="count what is computed")
    parser.add_argument("--max-steps", type=int, default=1000, help="length of the schedule")
    parser.add_argument("--write-options", metavar="FILE", help="write the options and stop")
    parser.add_argument("--size", choices=SIZES, default="41m", help="of the model")
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    args = parser.parse_args()
    if args.processor_time and args.device != "cpu":
        parser.error("--processor-time counts what the CPU computes; leave it out on a GPU")
    if args.write_options:
        text = json.dumps(bench_options(args.max_steps, args.size), indent=1)
        Path(args.write_options).write_text(text + "\n")
        return
    if args.processor_time:
        global now
        now = time.thread_time
    print(json.dumps(bench(args)))


if __name__ == "__main__":
    main()
