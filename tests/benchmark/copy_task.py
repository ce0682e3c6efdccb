"""How fast a small decoder learns to repeat words it has heard, with and without copy attention.

    s2s-run data synth DATA
    python tests/benchmark/copy_task.py DATA [--seeds 1 2 3] [--steps 800]

No audio: a decoder of the demo's size (configs/demo.yaml: 4 x 256, 4 heads) reads the true user
words, one frame after each has ended, beside noise and a fixed random vector for each word in the
place of an encoder's frames, and learns the agent's text, which begins where the turn does.
Sentences and times are those of DATA. Printed, for each seed and run, is the share of slot words
that are right in held-out dialogues (dev.jsonl): the words of answers that are not of their
templates, each predicted from the true text before it. The copy attention is that of
plugins/models/duplex_s2s/copy_attention.cc without mass and recency, which true words do not need.
"""

import argparse
import json
import math
import random
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

FRAME_S = 0.08
PAD, BOS, EOS, FIRST_WORD = 0, 1, 2, 4
VOCABULARY, HIDDEN, MIDDLE, LAYERS, HEADS, KEY = 256, 256, 704, 4, 4, 64
SEQUENCE, ROWS, EVAL_ROWS, EVAL_BATCHES = 128, 4, 16, 4
EMBEDDING_SCALE, TEXT_WEIGHT, TEXT_DROPOUT = 8.0, 5.0, 0.1
LR, MIN_LR_SHARE, WARM_UP, MAX_NORM = 1.5e-3, 0.02, 60, 1.0
TEMPLATE_WORDS = set("the timer is set for in now it will be calling opens closes at on".split())


def read_dialogues(path: Path) -> list:
    """Frames, user words (ending frame, word) and turns (first, last frame, words) of each cut."""
    dialogues = []
    for line in path.read_text().splitlines():
        cut = json.loads(line)
        heard, turns = [], []
        for turn in cut["supervisions"]:
            if turn["speaker"] == "user":
                for word, start_s, length_s in (entry[:3] for entry in turn["alignment"]["word"]):
                    heard.append((math.ceil((start_s + length_s) / FRAME_S - 1e-6), word))
            else:
                end_s = turn["start"] + turn["duration"]
                first, last = round(turn["start"] / FRAME_S), round(end_s / FRAME_S)
                turns.append((first, last, turn["text"].split()))
        dialogues.append((round(cut["duration"] / FRAME_S), heard, turns))
    return dialogues


def draw_row(dialogues, ids, draw) -> tuple:
    """User and text channel of as many dialogues as fit into a sequence."""
    user, text, begin = [PAD] * SEQUENCE, [PAD] * SEQUENCE, 0
    while True:
        num_frames, heard, turns = draw.choice(dialogues)
        if begin + num_frames > SEQUENCE:
            if begin == 0:
                continue
            return user, text
        for frame, word in heard:
            if begin + frame < SEQUENCE and word in ids:
                user[begin + frame] = ids[word]
        for first, last, words in turns:
            tokens = [BOS] + [ids[word] for word in words]
            for i, token in enumerate(tokens[: SEQUENCE - begin - first]):
                text[begin + first + i] = token
            if begin + last < SEQUENCE:
                text[begin + last] = EOS
        begin += num_frames


def draw_batch(dialogues, ids, rows, draw, word_vectors) -> tuple:
    drawn = [draw_row(dialogues, ids, draw) for _ in range(rows)]
    user = torch.tensor([row[0] for row in drawn])
    text = torch.tensor([row[1] for row in drawn])
    return user, text, 0.3 * torch.randn(rows, SEQUENCE, HIDDEN) + word_vectors[user]


def rotate(x, cos, sin):
    half = x.shape[-1] // 2
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        linear = lambda rows, columns: nn.Linear(rows, columns, bias=False)
        self.qkv, self.out = linear(HIDDEN, 3 * HIDDEN), linear(HIDDEN, HIDDEN)
        self.gate, self.up = linear(HIDDEN, MIDDLE), linear(HIDDEN, MIDDLE)
        self.down = linear(MIDDLE, HIDDEN)
        self.norms = nn.ModuleList(nn.RMSNorm(HIDDEN, 1e-5) for _ in range(2))

    def forward(self, x, cos, sin):
        rows, frames, _ = x.shape
        split = self.qkv(self.norms[0](x)).view(rows, frames, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        query, key = rotate(split[0], cos, sin), rotate(split[1], cos, sin)
        seen = F.scaled_dot_product_attention(query, key, split[2], is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(rows, frames, HIDDEN))
        h = self.norms[1](x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Decoder(nn.Module):
    def __init__(self, copies: bool):
        super().__init__()
        self.table = nn.Embedding(VOCABULARY, HIDDEN)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.RMSNorm(HIDDEN, 1e-5)
        self.copies = copies
        if copies:
            self.query = nn.Linear(HIDDEN, KEY, bias=False)
            self.key = nn.Linear(HIDDEN, KEY, bias=False)
            self.scale = nn.Parameter(torch.ones(()))
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, 0, 0.02)

    def forward(self, user, text, features):
        told = self.table(user) * EMBEDDING_SCALE * (user != PAD)[..., None]
        x = self.table(text) * EMBEDDING_SCALE + told + features
        width = HIDDEN // HEADS
        angle = torch.arange(x.shape[1])[:, None] / 10000 ** (torch.arange(0, width, 2) / width)
        angle = torch.cat([angle, angle], -1)
        for layer in self.layers:
            x = layer(x, angle.cos(), angle.sin())
        h = self.norm(x)
        return F.linear(h + self.copied(h, told, user) if self.copies else h, self.table.weight)

    def copied(self, h, told, user):
        scores = self.query(h) @ self.key(told).transpose(1, 2) / KEY**0.5
        past = torch.ones(scores.shape[1:], dtype=torch.bool).tril()
        scores = scores.masked_fill(~(past & (user != PAD)[:, None]), -1e9)
        nothing = torch.zeros_like(scores[..., :1])  # most frames repeat no word
        return self.scale * (torch.cat([nothing, scores], -1).softmax(-1)[..., 1:] @ told)


def share_right(decoder, batches, is_slot) -> float:
    right = total = 0
    with torch.no_grad():
        for user, text, features in batches:
            guess = decoder(user[:, :-1], text[:, :-1], features[:, :-1]).argmax(-1)
            asked = is_slot[text[:, 1:]]
            right += (guess == text[:, 1:])[asked].sum().item()
            total += asked.sum().item()
    return right / total


def train(copies, seed, steps, data) -> list:
    """Shares of right slot words after each eighth of the steps."""
    torch.manual_seed(seed)
    draw = random.Random(seed)
    words = (word for _, _, turns in data["train"] for turn in turns for word in turn[2])
    heard = (word for _, words_heard, _ in data["train"] for _, word in words_heard)
    ids = {word: FIRST_WORD + i for i, word in enumerate(sorted({*words, *heard}))}
    is_slot = torch.zeros(VOCABULARY, dtype=torch.bool)
    is_slot[[number for word, number in ids.items() if word not in TEMPLATE_WORDS]] = True
    word_vectors = 0.6 * torch.randn(VOCABULARY, HIDDEN)
    held_out = [
        draw_batch(data["dev"], ids, EVAL_ROWS, draw, word_vectors) for _ in range(EVAL_BATCHES)
    ]
    decoder = Decoder(copies)
    optimizer = torch.optim.AdamW(decoder.parameters(), betas=(0.9, 0.98), weight_decay=0.0)
    weights = torch.full((VOCABULARY,), TEXT_WEIGHT)
    weights[PAD] = 1.0
    shares = []
    for step in range(steps):
        cosine = 0.5 * (1 + math.cos(math.pi * step / steps))
        warm = min(1.0, (step + 1) / WARM_UP)
        optimizer.param_groups[0]["lr"] = LR * warm * (MIN_LR_SHARE + (1 - MIN_LR_SHARE) * cosine)
        user, text, features = draw_batch(data["train"], ids, ROWS, draw, word_vectors)
        told = text[:, :-1].masked_fill(torch.rand(ROWS, SEQUENCE - 1) < TEXT_DROPOUT, PAD)
        logits = decoder(user[:, :-1], told, features[:, :-1]).flatten(0, 1)
        labels = text[:, 1:].flatten()
        losses = F.cross_entropy(logits, labels, reduction="none") * weights[labels]
        optimizer.zero_grad()
        losses.mean().backward()
        nn.utils.clip_grad_norm_(decoder.parameters(), MAX_NORM)
        optimizer.step()
        if (step + 1) % max(1, steps // 8) == 0:
            shares.append(share_right(decoder, held_out, is_slot))
    return shares


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path, help="a set made by s2s-run data synth")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--steps", type=int, default=800, help="of four sequences")
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    data = {name: read_dialogues(arguments.data / f"{name}.jsonl") for name in ("train", "dev")}
    print(f"held-out slot words right, after each eighth of {arguments.steps} steps")
    for seed in arguments.seeds:
        for copies in (False, True):
            shares = train(copies, seed, arguments.steps, data)
            label = "with copy attention" if copies else "without"
            row = " ".join(f"{100 * share:4.0f} %" for share in shares)
            print(f"seed {seed}  {label:20}{row}", flush=True)


if __name__ == "__main__":
    main()
