"""One rank of a benchmark of PyTorch's own DDP, fully_shard (FSDP2) or tensor parallelism.

    python -m torch.distributed.run --standalone --nproc-per-node 2 \\
        tests/benchmark/parallel_peer.py --layout fsdp --model 100m --steps 10

The same work as `s2s-run bench parallel`: a Llama of the same sizes on the CPU with Gloo, float32,
random tokens, forward, cross entropy over all positions, backward, AdamW. Under ddp and fsdp each
rank has its own rows; under tp all ranks have the same. Rank 0 prints one JSON object. Times and
memory are the slowest and the largest rank's.

Memory: "steps" is the high-water mark of resident memory while steps run, "setup" the one of
everything before; "start" is what the process had before it built the model (interpreter and
libraries).
"""

import argparse
import json
import os
import statistics
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from transformers import LlamaConfig, LlamaForCausalLM

# hidden, intermediate, layers, heads, key/value heads, vocabulary
SIZES = {
    "tiny": (64, 128, 2, 4, 2, 256),
    "100m": (768, 2048, 10, 12, 12, 16000),
}


def resident(field: str) -> int:
    with open("/proc/self/status") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith(field))


def forget_high_water() -> None:
    with open("/proc/self/clear_refs", "w") as control:
        control.write("5")


def make_config(name: str) -> LlamaConfig:
    hidden, intermediate, layers, heads, kv_heads, vocabulary = SIZES[name]
    return LlamaConfig(
        hidden_size=hidden,
        intermediate_size=intermediate,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        vocab_size=vocabulary,
        tie_word_embeddings=False,
        attn_implementation="sdpa",
        use_cache=False,
    )


def lay_ddp(config):
    model = LlamaForCausalLM(config)
    return model, torch.nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)


def lay_fsdp(config):
    """On the meta device first, as PyTorch's guide has it: no rank ever holds the whole model."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    with torch.device("meta"):
        model = LlamaForCausalLM(config)
    for layer in model.model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    model.to_empty(device="cpu")
    initial_values(model, config)
    return model, model


def lay_tp(config):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.parallel import (
        ColwiseParallel,
        RowwiseParallel,
        parallelize_module,
    )

    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    with torch.device("meta"):
        model = LlamaForCausalLM(config)
    plan = {
        "model.embed_tokens": RowwiseParallel(input_layouts=Replicate()),
        "lm_head": ColwiseParallel(output_layouts=Shard(-1), use_local_output=False),
    }
    for i in range(config.num_hidden_layers):
        for name in ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"):
            plan[f"model.layers.{i}.{name}"] = ColwiseParallel()
        plan[f"model.layers.{i}.self_attn.o_proj"] = RowwiseParallel()
        plan[f"model.layers.{i}.mlp.gate_proj"] = ColwiseParallel()
        plan[f"model.layers.{i}.mlp.up_proj"] = ColwiseParallel()
        plan[f"model.layers.{i}.mlp.down_proj"] = RowwiseParallel()
    parallelize_module(model, mesh, plan)
    model.to_empty(device="cpu")
    initial_values(model, config)
    return model, model


def lay_single(config):
    model = LlamaForCausalLM(config)
    return model, model


def initial_values(model, config) -> None:
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" in name:
                parameter.fill_(1.0)
            else:
                parameter.normal_(0.0, config.initializer_range)
    # Its frequencies are no parameters; to_empty has lost them.
    model.model.rotary_emb = type(model.model.rotary_emb)(config)


LAYOUTS = {"single": lay_single, "ddp": lay_ddp, "fsdp": lay_fsdp, "tp": lay_tp}


def make_step(model, runner, optimizer, ids, labels, splits_vocabulary):
    from torch.distributed.tensor.parallel import loss_parallel

    def loss_of():
        logits = runner(input_ids=ids).logits
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten())

    def step() -> float:
        optimizer.zero_grad(set_to_none=True)
        if splits_vocabulary:
            with loss_parallel():
                loss = loss_of()
                loss.backward()
        else:
            loss = loss_of()
            loss.backward()
        optimizer.step()
        loss = loss.detach()
        return float(loss.full_tensor() if hasattr(loss, "full_tensor") else loss)

    return step


def largest(value: float) -> float:
    tensor = torch.tensor([value], dtype=torch.float64)
    dist.all_reduce(tensor, dist.ReduceOp.MAX)
    return tensor.item()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layout", choices=LAYOUTS, required=True)
    parser.add_argument("--model", choices=SIZES, default="tiny")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--warm-up", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=2)
    parser.add_argument("--positions", type=int, default=128)
    parser.add_argument("--optimizer", choices=["fused", "foreach"], default="fused")
    args = parser.parse_args()
    torch.set_num_threads(1)
    if "RANK" not in os.environ:
        os.environ.update(RANK="0", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="29511")
    dist.init_process_group("gloo")
    config = make_config(args.model)
    start_bytes = resident("VmRSS")
    torch.manual_seed(1)
    model, runner = LAYOUTS[args.layout](config)
    # One call of the fused kernel takes tensors of one kind; under tp norms are plain ones.
    split = [p for p in model.parameters() if hasattr(p, "full_tensor")]
    whole = [p for p in model.parameters() if not hasattr(p, "full_tensor")]
    groups = [{"params": part} for part in (split, whole) if part]
    optimizer = torch.optim.AdamW(groups, lr=1e-4, weight_decay=0.0, **{args.optimizer: True})
    torch.manual_seed(100 + (0 if args.layout == "tp" else dist.get_rank()))
    tokens = torch.randint(0, config.vocab_size, (args.batch_size, args.positions + 1))
    ids, labels = tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()
    step = make_step(model, runner, optimizer, ids, labels, args.layout == "tp")
    setup_bytes = resident("VmHWM")
    forget_high_water()
    losses, times = [], []
    for turn in range(args.warm_up + args.steps):
        dist.barrier()
        begin = time.perf_counter()
        losses.append(step())
        if turn >= args.warm_up:
            times.append(time.perf_counter() - begin)
    result = {
        "layout": args.layout,
        "model": args.model,
        "ranks": dist.get_world_size(),
        "num_parameters": sum(
            p.full_tensor().numel() if hasattr(p, "full_tensor") else p.numel()
            for p in model.parameters()
        ),
        "batch_size": args.batch_size,
        "positions": args.positions,
        "step_s": largest(statistics.median(times)),
        "memory_bytes": {
            "start": largest(start_bytes),
            "setup": largest(setup_bytes),
            "steps": largest(resident("VmHWM")),
            "steps_above_start": largest(resident("VmHWM") - start_bytes),
        },
        "losses": [losses[0], losses[-1]],
        "optimizer": args.optimizer,
        "version": torch.__version__,
    }
    if dist.get_rank() == 0:
        print(json.dumps(result), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
