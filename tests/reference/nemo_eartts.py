"""Reference files of NVIDIA NeMo's RVQEARTTSModel (nemo_toolkit 3.0.0, CPU, float32).

    python tests/reference/nemo_eartts.py --out tests/reference/data [--case NAME] [--list]

kind=model, name=eartts. `options`: `model` (the model's own block, tts_config, and an optimizer),
`tokens` (bos, eos, pad; pieces: the texts of all ids), `trainer` (gradient_clip_val), `generation`
(the arguments of generate_step). Random weights, fixed by seeds.

Random draws of a training step are inputs, in the order in which the model draws them:
  input/draw_source    [B,T] uniform, the share of books that stay visible, before scaling
  input/draw_target    [B,T] uniform, only with random_target_masking
  input/draw_dropout   [B,T,1] uniform, whether books of the input are dropped
  input/draw_books     [B,T,1] int64, how many books are kept then
  input/draw_uncond    [B,1,1] uniform, whether the condition of a row is dropped
All three training steps use the same draws. Generation is greedy: top-k of 1 for the component, and
noise_scale 0.

  weights/*                  the state dict before anything ran, buffers included.
  input/code, attention_mask, position_ids, context_hidden_state, subword_ids, subword_mask,
  audio_mask                 the arguments of forward, as DuplexEARTTS prepares them.
  input/next_subword_ids, next_context   what follows the prompt in generation.
  output/hidden_states, lm_loss, c_loss, k_loss, loss   the first training step, train mode.
  output/losses              of the three steps.
  grad/*                     of the first step's loss, before clipping.
  after/3/*                  the parameters after three steps of clip_grad_norm_ and the optimizer.
  output/tokens_audio_teacher  eval mode: codes [B,T,K] of every frame, from the given codes before
                             it (teacher_forcing_inference), with guidance.
  output/tokens_audio        eval mode: codes [B,N,K] of an autoregressive loop with a cache and
                             guidance. Its prompt is the first `prompt_frames` columns; the next
                             step's code is the prompt's last column, as DuplexEARTTS does.
"""

import copy
import json
import math
import os
import tempfile
import warnings
from contextlib import contextmanager
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
warnings.filterwarnings("ignore")

import torch

import reference_file as rf
from nemo_eartts_cases import CASES, PIECES

NUM_STEPS = 3
RTOL, ATOL = 1e-4, 5e-5
TOKENS = {"bos": 1, "eos": 2, "pad": 3, "pieces": PIECES}
TRAINER = {"gradient_clip_val": 1.0}
GENERATION = {"num_iter": 4, "guidance_scale": 0.5, "top_p_or_k": 1, "noise_scale": 0.0}
NEXT_FRAMES = 6


def write_tokenizer(folder: Path, pieces) -> None:
    """A word-level tokenizer with the given texts of ids."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.WordLevel({p: i for i, p in enumerate(pieces)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    names = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)


def read_tokenizer(pieces):
    from nemo.collections.common.tokenizers import AutoTokenizer

    with tempfile.TemporaryDirectory() as name:
        write_tokenizer(Path(name), pieces)
        return AutoTokenizer(name, use_fast=True)


def build(block, tokenizer):
    """RVQEARTTSModel in train mode, float32."""
    from nemo.collections.speechlm2.modules.ear_tts_model import RVQEARTTSModel
    from omegaconf import DictConfig

    block = json.loads(json.dumps({k: v for k, v in block.items() if k != "optimizer"}))
    model = RVQEARTTSModel(DictConfig(block), tokenizer=tokenizer)
    model.set_rvq_embs(
        torch.zeros(block["num_quantizers"], block["codebook_size"], block["latent_size"])
    )
    return model.train()


def draw_weights(model, seed) -> None:
    """Every part matters: biases and gates are not zero, norms keep the mean that they have."""
    generator = torch.Generator().manual_seed(seed)
    embeddings = {
        f"{n}.weight" for n, m in model.named_modules() if isinstance(m, torch.nn.Embedding)
    }
    seeds = iter(range(1000 * seed, 1000 * seed + 1000))
    for name, tensor in sorted(model.named_parameters()):
        if tensor.dim() < 2:
            noise = torch.randn(tensor.shape, generator=generator)
            is_norm = "norm" in name and name.endswith("weight")
            value = tensor.detach() + (0.2 if is_norm or name.endswith("bias") else 0.6) * noise
            tensor.data.copy_(value)
            continue
        width = tensor.shape[-1] if name.endswith("low_mat") else tensor[0].numel()
        rf.draw(tensor, next(seeds), 0.0, 0.5 if name in embeddings else 1 / math.sqrt(width))
    books = model.rvq_embs.shape[0]
    for k in range(books):
        noise = torch.randn(model.rvq_embs[k].shape, generator=generator)
        unit = torch.nn.functional.normalize(noise, dim=1)
        model.rvq_embs[k].copy_(2.5 * (books - k) / books * unit)


def make_inputs(case) -> dict:
    """A padded batch: prompt, then speech, some of it without text."""
    options, lengths = case["options"], case["lengths"]
    rows, width = len(lengths), max(lengths)
    generator = torch.Generator().manual_seed(case["seed"] + 1000)

    def ints(low, high, *shape):
        return torch.randint(low, high, shape, generator=generator)

    code = ints(0, options["codebook_size"], rows, width, options["num_quantizers"])
    code[:, 0] = options["codebook_size"]
    frame = torch.arange(width)
    audio_mask = torch.zeros(rows, width, dtype=torch.bool)
    inside = torch.zeros(rows, width, dtype=torch.bool)
    for row, prompt in enumerate(case["prompts"]):
        end = case.get("audio_ends", lengths)[row]
        audio_mask[row, prompt - 1 : end] = True
        inside[row, : lengths[row]] = True
        code[row, prompt - 1] = options["codebook_size"]
    text = ints(0, len(PIECES), rows, width)
    text[:, 6] = TOKENS["eos"]
    text[:, 4] = TOKENS["bos"]
    text[0, -2] = len(PIECES) - 1
    text[:, 1] = TOKENS["pad"]
    pad = torch.nn.functional.pad
    same = inside.unsqueeze(1) == inside.unsqueeze(2)
    inputs = {
        "code": code,
        "audio_mask": audio_mask,
        "attention_mask": (same & (frame.unsqueeze(0) <= frame.unsqueeze(1))).unsqueeze(1),
        "position_ids": torch.where(inside, frame, 0),
        "subword_ids": pad(text[:, 1:], [0, 1]),
        "subword_mask": pad(audio_mask[:, 1:], [0, 1]),
        "next_subword_ids": ints(0, len(PIECES), rows, NEXT_FRAMES),
        "prompt_frames": torch.tensor([min(case["prompts"])]),
        "draw_source": torch.rand(rows, width, generator=generator),
        "draw_dropout": torch.rand(rows, width, 1, generator=generator),
        "draw_books": ints(0, options["num_quantizers"] + 1, rows, width, 1),
        "draw_uncond": torch.tensor([0.1, 0.7, 0.6])[:rows].view(rows, 1, 1),
    }
    if options["random_target_masking"]:
        inputs["draw_target"] = torch.rand(rows, width, generator=generator)
    if options["context_hidden_size"]:
        size = options["context_hidden_size"]
        inputs["context_hidden_state"] = torch.randn(rows, width, size, generator=generator)
        inputs["next_context"] = torch.randn(rows, NEXT_FRAMES, size, generator=generator)
    return inputs


@contextmanager
def given_draws(inputs):
    """torch.rand and torch.randint return the recorded draws, in the model's order."""
    names = ["draw_source", "draw_target", "draw_dropout", "draw_uncond"]
    uniform = [inputs[n] for n in names if n in inputs]
    whole = [inputs["draw_books"]]
    rand, randint = torch.rand, torch.randint

    def next_of(queue, shape):
        value = queue.pop(0)
        assert tuple(value.shape) == tuple(shape), (value.shape, shape)
        return value.clone()

    torch.rand = lambda *shape, **k: next_of(
        uniform, shape[0] if isinstance(shape[0], tuple) else shape
    )
    torch.randint = lambda low, high, shape, **k: next_of(whole, shape)
    try:
        yield
        assert not uniform and not whole, "a recorded draw was not used"
    finally:
        torch.rand, torch.randint = rand, randint


FORWARD = ("code", "audio_mask", "attention_mask", "position_ids", "subword_ids", "subword_mask",
           "context_hidden_state")


def arguments(inputs, names=FORWARD) -> dict:
    return {n: inputs[n].clone() for n in names if n in inputs}


def generate(model, inputs) -> dict:
    model.eval()
    with torch.no_grad():
        teacher = model(
            **arguments(inputs), generation_config={**GENERATION, "eos_threshold": 1.0},
            teacher_forcing_inference=True, guidance_enabled=True,
        ).codes.squeeze(2)
        frames = int(inputs["prompt_frames"])
        names = ("code", "audio_mask", "subword_ids", "subword_mask", "context_hidden_state")
        prompt = {k: v[:, :frames] for k, v in arguments(inputs, names).items()}
        state = model(**prompt, use_cache=True, guidance_enabled=True)
        code, cache, codes = prompt["code"][:, -1:], state.past_key_values, []
        for i in range(NEXT_FRAMES):
            ids = inputs["next_subword_ids"][:, i : i + 1]
            context = inputs["next_context"][:, i : i + 1] if "next_context" in inputs else None
            step = model(
                code=code, subword_ids=ids, subword_mask=torch.ones_like(ids, dtype=torch.bool),
                context_hidden_state=context, past_key_values=cache, use_cache=True,
                guidance_enabled=True, generation_config=GENERATION, ignore_eos_flag_stop=True,
            )
            code, cache = step.codes, step.past_key_values
            codes.append(code)
    return {"output/tokens_audio": torch.cat(codes, 1), "output/tokens_audio_teacher": teacher}


def train(model, inputs, block) -> tuple[dict, float]:
    settings = {k: v for k, v in block["optimizer"].items() if k != "_target_"}
    optimizer = torch.optim.AdamW(model.parameters(), **settings)
    model.train()
    tensors, losses, norm = {}, [], 0.0
    for step in range(NUM_STEPS):
        optimizer.zero_grad()
        with given_draws(inputs):
            result = model(**arguments(inputs))
        result.loss.backward()
        losses.append(result.loss.detach().clone())
        if step == 0:
            for name in ("loss", "lm_loss", "c_loss", "k_loss", "hidden_states"):
                value = torch.as_tensor(getattr(result, name), dtype=torch.float32)
                tensors[f"output/{name}"] = value.detach().clone()
            for name, parameter in rf.unique_parameters(model).items():
                gradient = parameter.grad
                gradient = torch.zeros_like(parameter) if gradient is None else gradient
                tensors[f"grad/{name}"] = gradient.detach().clone()
        clip = torch.nn.utils.clip_grad_norm_(model.parameters(), TRAINER["gradient_clip_val"])
        norm = norm or clip.item()
        optimizer.step()
    tensors["output/losses"] = torch.stack(losses)
    for name, parameter in model.named_parameters():
        tensors[f"after/{NUM_STEPS}/{name}"] = parameter.detach().clone()
    return tensors, norm


def run(model, inputs, block) -> tuple[dict, float]:
    tokens = generate(model, inputs)
    tensors, norm = train(model, inputs, block)
    valid = inputs["position_ids"].gt(0)
    valid[:, 0] = True
    tensors["output/hidden_states"] *= valid.unsqueeze(-1)  # padding is not compared
    tokens["output/tokens_audio_teacher"] *= valid.unsqueeze(-1)
    return {**tokens, **tensors}, norm


def noise_check(first, second) -> list:
    """Names of after/* tensors that are noise; anything else that is noisy is an error."""
    ratios = rf.noise_ratio(first, second, RTOL, ATOL)
    for group in ("output", "grad", "after"):
        worst = max((n for n in ratios if n.startswith(group)), key=ratios.get)
        print(f"  noise {group}: {ratios[worst]:.3f} of the tolerance at {worst}")
    noisy = [n for n, r in ratios.items() if r > 0.3]
    assert all(n.startswith("after/") for n in noisy), f"ill-conditioned: {noisy}"
    return noisy


def make(name, out) -> None:
    case = CASES[name]
    torch.manual_seed(case["seed"])
    block = case["options"]
    model = build(block, read_tokenizer(PIECES))
    draw_weights(model, case["seed"])
    inputs = make_inputs(case)
    weights = rf.weights_of(model)
    twins = [copy.deepcopy(model) for _ in range(2)]
    tensors, norm = run(model, inputs, block)
    noisy = []
    for seed, twin in enumerate(twins):
        rf.nudge(twin, case["seed"] + seed)
        noisy += noise_check(tensors, run(twin, inputs, block)[0])
    for key in set(noisy):
        print(f"  left out: {key}")
        del tensors[key]
    tensors.update({f"weights/{k}": v for k, v in weights.items()})
    tensors.update({f"input/{k}": v for k, v in inputs.items()})
    options = {"model": block, "tokens": TOKENS, "trainer": TRAINER, "generation": GENERATION}
    path = Path(out) / f"nemo_eartts_{name}.safetensors"
    size = rf.write_small(path, "model", "eartts", options, tensors, RTOL, ATOL)
    still = [k for k, v in tensors.items() if k.startswith("grad/") and not v.any()]
    parts = {k: tensors[f"output/{k}"].item() for k in ("lm_loss", "c_loss", "k_loss")}
    rf.report(path, size, norm=norm, without_gradient=still, **parts,
              kinds=len(tensors["output/tokens_audio"].unique()))


if __name__ == "__main__":
    rf.run_cases(__doc__, CASES, make)
