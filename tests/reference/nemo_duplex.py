"""Reference files of NVIDIA NeMo's DuplexS2SModel (nemo_toolkit 3.0.0, CPU, float32).

    python tests/reference/nemo_duplex.py --out tests/reference/data [--case NAME] [--list]

kind=model, name=duplex_s2s. Random weights, a stub codec that returns `input/codes`. Everything is
fixed by seeds. Which mode each tensor belongs to:

  weights/*             the state dict before anything ran (buffers included, audio_codec.*
                        not). A tied model holds embed_tokens.weight only; so do grad/*, after/*.
  output/tokens_text,   offline_inference: module in eval mode, weights/* (batch_norm uses its
  output/tokens_audio   running statistics). As many steps as the encoder gives frames (full width
                        of the batch, padding included), not as many as input/codes has.
  output/mel            the pass below, as the preprocessor gives it: [B,F,columns], zero where
                        invalid; floor(n/hop) columns are valid, one more (then pad_to) exists.
  output/perception     the pass below, full width of the encoder, not yet cut to the codes' width.
                        Frames beyond a row's length are what NeMo computes there, not zero: they
                        enter the loss, so they have to agree too.
  output/text_logits,   first training_step: configure_optimizers has run (so freezing is applied),
  output/audio_logits,  module in train mode, then what training_step itself does: preprocessor in
  output/text_loss,     eval always (it has no parameters, so it counts as frozen), encoder and llm
  output/audio_loss,    in eval if all their parameters are frozen. batch_norm therefore uses batch
  output/loss           statistics over the whole padded rectangle unless the encoder is frozen.
                        [B, T-1, ...] where T is the common width after cutting.
  output/input_embeds,  of prepare_inputs in that pass, with a speech decoder: [B, T-1, H],
  output/text_labels,   [B, T-1] and [B, T-1, K].
  output/audio_labels
  output/losses         of the three steps below, each before its update.
  grad/*                of `loss`, from that same pass, before clipping; trainable parameters only.
  after/3/*             after three optimizer steps on this batch, the pass above being the first:
                        forward, backward, clip_grad_norm_ (total 2-norm of the trainable ones),
                        AdamW step, scheduler step. Parameters (frozen ones too) and batch_norm's
                        running statistics (three forward passes in train mode). Only in the files
                        of reference_file.WITH_AFTER.

Gradients that are zero in theory (a key's bias under softmax, a bias in front of batch_norm) are
rounding noise, which AdamW blows up to whole steps: the option `eps` 1e-4 keeps it small, and
tensors whose after-values do not survive the noise check are left out and named on the console.
"""

import copy
from pathlib import Path

import torch

import nemo_connectors  # noqa: F401, adds cases
import nemo_duplex_families  # noqa: F401, adds cases
import nemo_speech_decoder_cases  # noqa: F401, adds cases
import reference_file as rf
from nemo_duplex_cases import CASES

NUM_STEPS = 3
PREPARED = ("input_embeds", "text_labels", "audio_labels")
RTOL, ATOL = 1e-4, 5e-5


def token_channel(turns, num_frames, tokens) -> torch.Tensor:
    channel = torch.full((num_frames,), tokens["pad"], dtype=torch.long)
    for start, text, end in turns:
        ids = torch.tensor([tokens["bos"]] + text)[: max(0, num_frames - start)]
        channel[start : start + len(ids)] = ids
        if end is not None and end < num_frames:
            channel[end] = tokens["eos"]
    return channel


def make_inputs(case) -> dict:
    lengths, codec = case["lengths"], case["options"]["codec"]
    num_rows, num_frames = len(lengths), case["codes_frames"]
    hop = 1280
    frames = [(n + hop // 2) // hop for n in lengths]
    generator = torch.Generator().manual_seed(case["seed"] + 1000)
    codes = torch.randint(
        codec["codebook_size"], (num_rows, codec["num_codebooks"], num_frames), generator=generator
    )
    code_lens = case["code_lens"] or [min(f, num_frames) for f in frames]
    channels = [
        token_channel(t, max(frames), case["options"]["tokens"]) for t in case["turns"]
    ]
    for row in range(num_rows):
        codes[row, :, code_lens[row] :] = 0
        channels[row][frames[row] :] = case["options"]["tokens"]["pad"]
    return {
        "source_audio": rf.noise_audio(num_rows, lengths, case["seed"] + 2000),
        "source_audio_lens": torch.tensor(lengths),
        "target_tokens": torch.stack(channels),
        "codes": codes,
        "code_lens": torch.tensor(code_lens),
    }


def greedy(model, inputs) -> tuple[dict, float]:
    """Tokens of offline_inference in eval mode and the smallest margin of any decision."""
    margins = []

    def watch(module, args, result):
        margins.extend(rf.greedy_margin(result[k]) for k in ("text_logits", "audio_logits"))

    hook = model.register_forward_hook(watch)
    model.eval()
    result = model.offline_inference(
        inputs["source_audio"].clone(), inputs["source_audio_lens"].clone(), decode_audio=False
    )
    hook.remove()
    names = ("tokens_text", "tokens_audio")
    return {f"output/{n}": result[n].clone() for n in names}, min(margins)


def first_step_outputs(model, batch) -> tuple[dict, torch.Tensor]:
    """training_step with its inner tensors, then backward."""
    seen = {}
    hooks = [
        model.perception.preprocessor.register_forward_hook(
            lambda m, a, r: seen.update(mel=r[0].detach().clone())
        ),
        model.perception.register_forward_hook(
            lambda m, a, r: seen.update(perception=r[0].detach().clone())
        ),
        model.register_forward_hook(
            lambda m, a, r: seen.update({k: v.detach().clone() for k, v in r.items()})
        ),
    ]
    prepare = model.prepare_inputs

    def watched(given):
        prepared = prepare(given)
        seen.update({k: prepared[k].detach().clone() for k in PREPARED})
        return prepared

    if hasattr(model, "speech_generation"):
        model.prepare_inputs = watched
    step = model.training_step(batch, 0)
    model.prepare_inputs = prepare
    for hook in hooks:
        hook.remove()
    for name in ("text_loss", "audio_loss", "loss"):
        seen[name] = step[name].detach().clone()
    return {f"output/{k}": v for k, v in seen.items()}, step["loss"]


def train(model, inputs, clip) -> tuple[dict, dict]:
    """Three steps as a Lightning loop makes them. Returns tensors and facts for the console."""
    from nemo_model import batch_of

    setup = model.configure_optimizers()
    optimizer, scheduler = setup["optimizer"], setup["lr_scheduler"]["scheduler"]
    trainable = [p for group in optimizer.param_groups for p in group["params"]]
    model.train()
    tensors, losses, norms, rates = {}, [], [], []
    for step in range(NUM_STEPS):
        optimizer.zero_grad()
        outputs, loss = first_step_outputs(model, batch_of(inputs))
        losses.append(loss.detach().clone())
        model.backward(loss)
        if step == 0:
            tensors.update(outputs)
            for name, parameter in rf.unique_parameters(model).items():
                if parameter.requires_grad and parameter.grad is not None:
                    tensors[f"grad/{name}"] = parameter.grad.detach().clone()
        rates.append(optimizer.param_groups[0]["lr"])
        norms.append(torch.nn.utils.clip_grad_norm_(trainable, clip).item())
        optimizer.step()
        scheduler.step()
    for name, tensor in rf.weights_of(model).items():
        is_weight = name in dict(model.named_parameters(remove_duplicate=False))
        if (is_weight or "running_" in name) and not name.startswith("audio_codec."):
            tensors[f"after/{NUM_STEPS}/{name}"] = tensor
    tensors["output/losses"] = torch.stack(losses)
    return tensors, {"norm": norms[0], "rates": rates}


def run(model, inputs, clip) -> tuple[dict, dict]:
    tokens, margin = greedy(model, inputs)
    tensors, facts = train(model, inputs, clip)
    return {**tokens, **tensors}, {"margin": margin, **facts}


def noise_check(first, second) -> list:
    """Names of after/* tensors that are noise; anything else that is noisy is an error."""
    ratios = rf.noise_ratio(first, second, RTOL, ATOL)
    worst = {}
    for name, ratio in ratios.items():
        group = name.split("/")[0]
        if ratio > worst.get(group, ("", -1.0))[1]:
            worst[group] = (name, ratio)
    for group, (name, ratio) in sorted(worst.items()):
        print(f"  noise {group}: {ratio:.3f} of the tolerance at {name}")
    noisy = [n for n, r in ratios.items() if r > 0.3]
    assert all(n.startswith("after/") for n in noisy), f"ill-conditioned: {noisy}"
    return noisy


def make(name, out) -> None:
    from nemo_model import build_duplex, give_codes

    case = CASES[name]
    torch.manual_seed(case["seed"])
    model = build_duplex(case["options"])
    rf.randomize(model, case["seed"])
    inputs = make_inputs(case)
    give_codes(model, inputs["codes"], inputs["code_lens"])
    weights = {k: v for k, v in rf.weights_of(model).items() if not k.startswith("audio_codec.")}
    twin = copy.deepcopy(model)
    rf.nudge(twin, case["seed"])
    clip = case["options"]["trainer"]["gradient_clip_val"]
    tensors, facts = run(model, inputs, clip)
    noisy = noise_check(tensors, run(twin, inputs, clip)[0])
    for key in noisy:
        print(f"  left out: {key}")
        del tensors[key]
    tensors.update({f"weights/{k}": v for k, v in weights.items()})
    has_decoder = "speech_decoder" in case["options"]["model"]
    if has_decoder:
        unused = ("/embed_audio_tokens.", "/audio_head.", ".causal_mask")
        tensors = {k: v for k, v in tensors.items() if not any(u in k for u in unused)}
    tensors.update({f"input/{k}": v for k, v in inputs.items()})
    path = Path(out) / f"nemo_duplex_{name}.safetensors"
    model_type = "duplex_s2s_speech_decoder" if has_decoder else "duplex_s2s"
    size = rf.write_small(path, "model", model_type, case["options"], tensors, RTOL, ATOL)
    assert facts["margin"] > 1e-3, f"{name}: margin {facts['margin']}, give it another seed"
    width = tuple(tensors["output/perception"].shape)
    loss = tensors["output/loss"].item()
    rf.report(path, size, margin=facts["margin"], loss=loss, norm=facts["norm"], clip=clip,
              rates=[f"{r:.2e}" for r in facts["rates"]], perception=width)


if __name__ == "__main__":
    rf.run_cases(__doc__, CASES, make)
