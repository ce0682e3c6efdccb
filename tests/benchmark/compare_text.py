"""Training a language model on text: `s2s-run train` and transformers' own loop, in turn.

    peer/bin/python tests/benchmark/compare_text.py [--threads 1] [--rounds 2] [--steps 12]

A Llama of 27 million parameters, float32, on the CPU: the same weights, tokenizer, JSONL file,
order of documents, batches (padded rows) and AdamW. The peer is the plain loop of transformers'
guide: AutoTokenizer, model(input_ids, attention_mask, labels), backward, clip, step. Both are whole
processes: "start" is from the start of the process to the end of its first step, "memory" its peak.
Figures are printed only if the losses of all steps are equal within 1e-4. Run it on an idle
machine.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZES = {
    "hidden_size": 512,
    "intermediate_size": 1376,
    "num_hidden_layers": 6,
    "num_attention_heads": 8,
    "num_key_value_heads": 8,
    "vocab_size": 8000,
}
ROWS, POSITIONS = 4, 128
LEARNING_RATE, CLIP = 1e-4, 1.0
CONFIG = """
model:
  type: causal_lm
  llm: {{ path: {folder}/model }}
  tokenizer: {{ name: hf, path: {folder}/model }}
  optimizer: {{ name: adamw, lr: {rate}, betas: [0.9, 0.999], weight_decay: 0.01 }}
  lr_scheduler: {{ name: warmup_lr, warmup_min_lr: {rate} }}  # constant
data:
  train_ds: {{ name: text, path: {folder}/train.jsonl, labels: all, packing: none,
               batch_size: {rows}, max_seq_len: {positions}, shuffle: false }}
trainer: {{ max_steps: {steps}, gradient_clip_val: {clip}, accelerator: cpu, precision: 32-true,
            num_threads: {threads}, log_every_n_steps: 1, strategy: {{ name: single }} }}
exp_manager: {{ explicit_log_dir: {folder}/run, resume_if_exists: false,
                checkpoint_callback_params: {{ every_n_train_steps: 1000000 }} }}
"""


def prepare(folder: Path) -> None:
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    random.seed(1)
    words = ["".join(random.choices("abcdefghijklmnopqrstuvwxyz", k=random.randint(2, 7)))
             for _ in range(4000)]
    texts = [" ".join(random.choices(words, k=random.randint(20, 60))) for _ in range(400)]
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=SIZES["vocab_size"], special_tokens=["<unk>", "<s>", "</s>"]))
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>",
                                   unk_token="<unk>", pad_token="<unk>")
    torch.manual_seed(1)
    model = LlamaForCausalLM(LlamaConfig(**SIZES, max_position_embeddings=256, bos_token_id=1,
                                         eos_token_id=2, tie_word_embeddings=False))
    model.save_pretrained(folder / "model")
    fast.save_pretrained(folder / "model")
    (folder / "train.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in texts))


def peer(folder: Path, steps: int, threads: int, started: float) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.set_num_threads(threads)
    tokenizer = AutoTokenizer.from_pretrained(folder / "model")
    model = AutoModelForCausalLM.from_pretrained(folder / "model", dtype=torch.float32).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=0.01)
    lines = (folder / "train.jsonl").read_text().splitlines()
    result = {"losses": [], "steps": []}
    for step in range(steps):
        begin = time.monotonic()
        texts = [json.loads(line)["text"] for line in lines[step * ROWS:(step + 1) * ROWS]]
        ids = [[1, *tokenizer(t, add_special_tokens=False)["input_ids"], 2][:POSITIONS]
               for t in texts]
        width = max(map(len, ids))
        batch = torch.tensor([row + [0] * (width - len(row)) for row in ids])
        mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in ids])
        loss = model(input_ids=batch, attention_mask=mask,
                     labels=batch.masked_fill(mask == 0, -100)).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
        optimizer.zero_grad()
        result["losses"].append(loss.item())
        result["steps"].append(time.monotonic() - begin)
        if step == 0:
            result["start"] = time.time() - started
    with open("/proc/self/status") as status:
        result["memory"] = next(1024 * int(l.split()[1]) for l in status if l.startswith("VmHWM"))
    print(json.dumps(result))


def ours(program: str, folder: Path, steps: int, threads: int) -> dict:
    config = folder / "text.yaml"
    config.write_text(CONFIG.format(folder=folder, rate=LEARNING_RATE, rows=ROWS, steps=steps,
                                    positions=POSITIONS, clip=CLIP, threads=threads))
    subprocess.run(["rm", "-rf", folder / "run"], check=True)
    started, first = time.time(), None
    process = subprocess.Popen([program, "train", str(config)], stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True)
    metrics = folder / "run/metrics.jsonl"
    while process.poll() is None:
        if first is None and metrics.exists() and metrics.stat().st_size > 0:
            first = time.time() - started
        time.sleep(0.002)
    text = process.stdout.read()
    if process.returncode != 0:
        sys.exit(f"error: [benchmark/run] s2s-run ended with {process.returncode}:\n{text[-2000:]}")
    lines = [json.loads(line) for line in metrics.read_text().splitlines()]
    lines = [line for line in lines if "loss" in line]
    return {"losses": [line["loss"] for line in lines], "start": first,
            "steps": [line["step_time_s"] for line in lines],
            "memory": max(line["peak_memory_bytes"] for line in lines)}


def theirs(folder: Path, steps: int, threads: int) -> dict:
    command = [sys.executable, __file__, "--peer", str(folder), "--steps", str(steps),
               "--threads", str(threads), "--started", repr(time.time())]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: [benchmark/run] the peer ended with {done.returncode}:\n"
                 f"{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ours", default="build/bin/s2s-run")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    parser.add_argument("--started", type=float, help=argparse.SUPPRESS)
    args = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(args.threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    if args.peer:
        return peer(Path(args.peer), args.steps, args.threads, args.started)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        pairs = [(ours(args.ours, folder, args.steps, args.threads),
                  theirs(folder, args.steps, args.threads)) for _ in range(args.rounds)]
    for mine, peers in pairs:
        worst = max(abs(a - b) for a, b in zip(mine["losses"], peers["losses"], strict=True))
        if not worst <= 1e-4:
            sys.exit(f"error: [benchmark/unequal] losses differ by {worst:.2g}: "
                     f"{mine['losses'][:3]} and {peers['losses'][:3]}")
    print(f"losses of {args.steps} steps are equal within 1e-4; threads {args.threads}")
    step = lambda result: statistics.median(result["steps"][2:])
    for label, value in (("step", step), ("start", lambda r: r["start"]),
                         ("memory", lambda r: r["memory"])):
        ratios = [value(mine) / value(peers) for mine, peers in pairs]
        print(f"{label:8} ours {value(pairs[0][0]):.4g}, transformers {value(pairs[0][1]):.4g}, "
              f"ratios {' '.join(f'{ratio:.3f}' for ratio in ratios)}")


if __name__ == "__main__":
    main()
