"""Reference files of NVIDIA NeMo's DuplexSTTModel (nemo_toolkit 3.0.0, CPU, float32).

    python tests/reference/nemo_duplex_stt.py --out tests/reference/data [--case NAME] [--list]

kind=model, name=duplex_stt; options as those of nemo_duplex.py, without a codec. Random weights,
fixed by seeds. Inputs are NeMo's batch by its names: audio_data flat, text_data as text_tokens and
text_token_lens, and `task_is_asr` for the task "asr" of all rows. Without source_audio, audio_data
is None.

  weights/*             the state dict before anything ran (buffers included)
  output/tokens_text,   offline_inference in eval mode, weights/*, with boosts, prompts and forced
  output/tokens_text_src, turn taking as the options say. With prompts, positions behind a row's
  output/tokens_len     length are 0 (NeMo's fill), and rows are cut by the longest prompt.
  output/...            first training_step, in train mode after configure_optimizers:
                        `perception` (before a prompt), `input_embeds`, `text_labels`,
                        `asr_labels`, `loss_scale` and `asr_loss_scale` [B,T-1,1], `text_logits`,
                        `asr_logits`, and the losses by their NeMo names
  output/losses         `loss` of three steps
  grad/*                of `loss`, from the first pass, before clipping; trainable ones only
  after/3/*             after three optimizer steps, as nemo_duplex.py makes them
"""

import copy
import json
import tempfile
from pathlib import Path

import torch

import reference_file as rf
from nemo_duplex import ATOL, NUM_STEPS, RTOL, noise_check, token_channel
from nemo_duplex_stt_cases import CASES

HOP = 1280
LOSSES = ("audio_loss", "audio_to_text_loss", "asr_loss", "text_to_text_loss", "token_accuracy",
          "loss")


def build(options: dict):
    from nemo.collections.speechlm2.models.duplex_stt_model import DuplexSTTModel

    from nemo_model import write_tokenizer

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "config.json").write_text(json.dumps(options["llm_config"]))
        write_tokenizer(folder, options["llm_config"]["vocab_size"], options["tokens"])
        block = json.loads(json.dumps(options["model"]))
        block["pretrained_llm"] = str(folder)
        model = DuplexSTTModel(block)
    found = (model.text_bos_id, model.text_eos_id, model.text_pad_id)
    wanted = tuple(options["tokens"][k] for k in ("bos", "eos", "pad"))
    assert found == wanted, f"special ids {found}, wanted {wanted}"
    return model


def make_loud(model, tokens) -> None:
    """Lets both heads choose PAD, BOS and EOS often, so that turns are taken."""
    for head in (model.lm_head, getattr(model, "asr_head", None)):
        if head is None or head.weight is model.embed_tokens.weight:
            continue
        for id in tokens.values():
            head.weight.data[id] *= 2.2


def padded(rows, pad) -> tuple:
    lens = torch.tensor([len(r) for r in rows])
    width = int(lens.max())
    return torch.tensor([r + [pad] * (width - len(r)) for r in rows]), lens


def make_inputs(case) -> dict:
    tokens, lengths = case["options"]["tokens"], case["lengths"]
    inputs = {}
    if not case["no_audio"]:
        frames = [(n + HOP // 2) // HOP for n in lengths]
        inputs["source_audio"] = rf.noise_audio(len(lengths), lengths, case["seed"] + 2000)
        inputs["source_audio_lens"] = torch.tensor(lengths)
        for side, turns in (("target", case["turns"]), ("source", case["user_turns"])):
            channels = [token_channel(t, max(frames), tokens) for t in turns]
            for row, length in enumerate(frames):
                channels[row][length:] = tokens["pad"]
            inputs[f"{side}_tokens"] = torch.stack(channels)
            inputs[f"{side}_token_lens"] = torch.tensor(frames)
        if case["prompts"]:
            rows = [[tokens["bos"], *p, tokens["eos"]] for p in case["prompts"]]
            inputs["prompt_tokens"], inputs["prompt_token_lens"] = padded(rows, tokens["pad"])
        if case["task"] == "asr":
            inputs["task_is_asr"] = torch.ones(len(lengths), dtype=torch.int64)
    if case["text"]:
        rows = [[tokens["bos"], *t, tokens["eos"]] for t in case["text"]]
        inputs["text_tokens"], inputs["text_token_lens"] = padded(rows, tokens["pad"])
    return inputs


def batch_of(inputs: dict, task: str) -> dict:
    text = {k: v.clone() for k, v in inputs.items() if k.startswith("text_token")}
    audio = {k: v.clone() for k, v in inputs.items() if k not in text and k != "task_is_asr"}
    if audio:
        audio["task"] = [task] * len(audio["source_audio"])
    return {"audio_data": audio or None, "text_data": text or None}


def greedy(model, inputs) -> tuple[dict, float]:
    margins = []
    hook = model.register_forward_hook(
        lambda m, a, r: margins.extend(
            rf.greedy_margin(r[k]) for k in ("text_logits", "asr_logits") if k in r
        )
    )
    model.eval()
    result = model.streaming_inference.offline_inference(
        inputs["source_audio"].clone(),
        inputs["source_audio_lens"].clone(),
        prompt_tokens=inputs.get("prompt_tokens"),
        prompt_token_lens=inputs.get("prompt_token_lens"),
    )
    hook.remove()
    names = ("tokens_text", "tokens_text_src", "tokens_len")
    found = {f"output/{n}": result[n].long().clone() for n in names if result[n] is not None}
    return found, min(margins)


def first_step_outputs(model, batch) -> tuple[dict, torch.Tensor]:
    """training_step with its inner tensors, then its loss."""
    seen = {}

    def keep(tensors):
        seen.update({k: v.detach().clone() for k, v in tensors.items() if v is not None})

    hooks = [
        model.perception.register_forward_hook(lambda m, a, r: keep({"perception": r[0]})),
        model.register_forward_hook(lambda m, a, r: keep(r)),
    ]
    prepare = model.prepare_inputs
    names = ("input_embeds", "text_labels", "asr_labels", "loss_scale", "asr_loss_scale")

    def watched(data):
        found = prepare(data)
        keep({k: found[k] for k in names if k in found})
        return found

    model.prepare_inputs = watched
    step = model.training_step(batch, 0)
    del model.prepare_inputs
    for hook in hooks:
        hook.remove()
    keep({n: step[n] for n in LOSSES if n in step})
    return {f"output/{k}": v for k, v in seen.items()}, step["loss"]


def train(model, inputs, case) -> tuple[dict, list]:
    clip = case["options"]["trainer"]["gradient_clip_val"]
    setup = model.configure_optimizers()
    optimizer, scheduler = setup["optimizer"], setup["lr_scheduler"]["scheduler"]
    trainable = [p for group in optimizer.param_groups for p in group["params"]]
    model.train()
    tensors, losses = {}, []
    for step in range(NUM_STEPS):
        optimizer.zero_grad()
        outputs, loss = first_step_outputs(model, batch_of(inputs, case["task"]))
        loss.backward()
        losses.append(loss.detach().clone())
        if step == 0:
            tensors.update(outputs)
            for name, parameter in rf.unique_parameters(model).items():
                if parameter.requires_grad and parameter.grad is not None:
                    tensors[f"grad/{name}"] = parameter.grad.detach().clone()
        torch.nn.utils.clip_grad_norm_(trainable, clip)
        optimizer.step()
        scheduler.step()
    tensors["output/losses"] = torch.stack(losses)
    names = dict(model.named_parameters(remove_duplicate=False))
    for name, tensor in rf.weights_of(model).items():
        if name in names:
            tensors[f"after/{NUM_STEPS}/{name}"] = tensor
    return tensors, losses


def run(model, inputs, case) -> tuple[dict, float]:
    tokens, margin = ({}, float("inf")) if case["no_audio"] else greedy(model, inputs)
    return {**tokens, **train(model, inputs, case)[0]}, margin


def check_sensitive(model, inputs, tokens) -> None:
    """Every option of decoding changes the tokens of its case."""
    for key in ("inference_pad_boost", "inference_bos_boost", "inference_eos_boost",
                "force_turn_taking"):
        if key not in model.cfg:
            continue
        kept = model.cfg[key]
        model.cfg[key] = False if key == "force_turn_taking" else None
        changed, _ = greedy(model, inputs)
        model.cfg[key] = kept
        count = (changed["output/tokens_text"] != tokens["output/tokens_text"]).sum().item()
        print(f"  {key} decides {count} tokens")
        assert count > 0, key


def make(name, out) -> None:
    case = CASES[name]
    torch.manual_seed(case["seed"])
    model = build(case["options"])
    rf.randomize(model, case["seed"])
    make_loud(model, case["options"]["tokens"])
    inputs = make_inputs(case)
    weights = rf.weights_of(model)
    twin = copy.deepcopy(model)
    twin.streaming_inference.model = twin
    rf.nudge(twin, case["seed"])
    if not case["no_audio"]:
        check_sensitive(model, inputs, greedy(model, inputs)[0])
    tensors, margin = run(model, inputs, case)
    for key in noise_check(tensors, run(twin, inputs, case)[0]):
        print(f"  left out: {key}")
        del tensors[key]
    tensors.update({f"weights/{k}": v for k, v in weights.items()})
    tensors.update({f"input/{k}": v for k, v in inputs.items()})
    path = Path(out) / f"nemo_duplex_stt_{name}.safetensors"
    size = rf.write_small(path, "model", "duplex_stt", case["options"], tensors, RTOL, ATOL)
    assert margin > 1e-3, f"{name}: margin {margin}, give it another seed"
    facts = {k.split("/")[1]: v.item() for k, v in tensors.items() if v.numel() == 1
             and k.startswith("output/")}
    rf.report(path, size, margin=margin, **facts)


if __name__ == "__main__":
    rf.run_cases(__doc__, CASES, make)
