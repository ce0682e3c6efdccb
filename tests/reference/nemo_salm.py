"""Reference files of NVIDIA NeMo's SALM (nemo_toolkit 3.0.0, CPU, float32).

    python tests/reference/nemo_salm.py --out tests/reference/data [--case NAME] [--list]

kind=model, name=salm. Random weights, seeded. What each tensor is:

  weights/*             the state dict before anything ran, under NeMo's names (PEFT's in a model
                        with adapters). A tied model holds embed_tokens.weight only.
  input/audios,         the batch as SALMDataset makes it: one row for each audio of the batch,
  input/audio_lens,     ids padded on the left with PAD, the audios' places hold the id of the tag.
  input/input_ids,
  input/loss_mask
  input/prompts,        of generate(): ids padded on the left, their audios, and its keyword
  input/prompt_audios*, arguments.
  input/max_new_tokens,
  input/num_beams
  output/tokens,        new ids of generate() in eval mode with weights/*, greedily and by beam
  output/tokens_beam    search; PAD behind a row's EOS.
  output/input_embeds,  of prepare_inputs in the first training_step (the module in train mode,
  output/target_ids,    frozen parts in eval mode). Padded on the left; the embeddings are zero
  output/attention_mask there.
  output/logits         of the same pass; set to zero where attention_mask is false.
  output/loss           of the same pass.
  output/losses         of three optimizer steps.
  output/val_loss,      of validation_step on the batch, in eval mode, with weights/*.
  output/val_acc
  grad/*, after/3/*     as in nemo_duplex.py.

With options.model.asr_decoder (SALMWithAsrDecoder; perception.asr is a transducer):

  output/asr_tokens     [A, W] labels that it hears in the audios in the first training_step, -1
                        behind them.
  input/transcripts,    [A, W] ids of ">> text <<" behind each audio, -1 behind them: in the first
  input/prompt_transcripts  training_step, and in generate().
"""

import copy
from collections import defaultdict
from pathlib import Path

import torch

import reference_file as rf
from nemo_salm_cases import CASES, TAG, VOCAB

NUM_STEPS = 3
RTOL, ATOL = 1e-4, 5e-5


def text_ids(generator, count) -> list:
    return torch.randint(5, VOCAB, (count,), generator=generator).tolist()


def make_row(turns, tokens, generator) -> tuple[list, list]:
    """Ids and loss mask: BOS in front of the user, EOS behind the assistant."""
    ids, mask = [], []
    for role, items in turns:
        is_answer = role == "assistant"
        new = [] if is_answer else [tokens["bos"]]
        for item in items:
            new += [TAG] if item == "A" else text_ids(generator, item)
        new += [tokens["eos"]] if is_answer else []
        ids += new
        mask += [is_answer] * len(new)
    return ids, mask


def make_inputs(case) -> dict:
    from nemo.collections.speechlm2.data.salm_dataset import left_collate_vectors

    tokens = case["options"]["tokens"]
    generator = torch.Generator().manual_seed(case["seed"] + 1000)
    rows = [make_row(turns, tokens, generator) for turns in case["rows"]]
    prompts = [make_row(turns, tokens, generator)[0] for turns in case["prompts"]]
    lengths, used = case["audio_lens"], list(case["prompt_audios"])
    asked = [lengths[i] for i in used]
    audios = rf.noise_audio(len(lengths), lengths, case["seed"] + 2000)
    return {
        "audios": audios,
        "audio_lens": torch.tensor(lengths),
        "input_ids": left_collate_vectors([torch.tensor(r) for r, _ in rows], tokens["pad"]),
        "loss_mask": left_collate_vectors([torch.tensor(m) for _, m in rows], 0).to(torch.bool),
        "prompts": left_collate_vectors([torch.tensor(p) for p in prompts], tokens["pad"]),
        "prompt_audios": rf.noise_audio(len(used), asked, case["seed"] + 3000),
        "prompt_audio_lens": torch.tensor(asked),
        "max_new_tokens": torch.tensor([case["max_new_tokens"]]),
        "num_beams": torch.tensor([case["num_beams"]]),
    }


def teach(model, inputs) -> None:
    """Puts what the model says in the place of the last answers' last word, so that some of the
    labels are right."""
    model.eval()
    with torch.no_grad():
        prepared = model.prepare_inputs(batch_of(inputs))
        logits = model(prepared["input_embeds"], prepared["attention_mask"])["logits"]
    tokens = inputs["input_ids"]
    said = logits[::2, -2].argmax(-1)
    assert (said > 4).all() and (said < VOCAB).all(), "a special id, give it another seed"
    tokens[::2, -2] = said


class Transcripts:
    """Watches what SALMWithAsrDecoder hears."""

    def __init__(self, model):
        self.model, self.calls = model, []
        if hasattr(model.perception, "transcribe_encoded"):
            self.hear = model.perception.transcribe_encoded
            model.perception.transcribe_encoded = self.watched

    def watched(self, **encoded):
        found = self.hear(**encoded)
        self.calls.append(found)
        return found

    def ids(self, hypotheses):
        texts = [f">> {h.text} <<" if h.text else ">> <<" for h in hypotheses]
        return padded([torch.tensor(self.model.tokenizer.text_to_ids(text)) for text in texts])

    def labels(self, hypotheses):
        names = list(self.model.perception.asr.cfg.labels)
        words = [[names.index(f" {w}") for w in h.text.split()] for h in hypotheses]
        return padded([torch.tensor(row, dtype=torch.long) for row in words])

    def tensors(self):
        """Inputs and outputs of a file: generate() hears first, training_step behind it and the
        validation."""
        if not self.calls:
            return {}
        asked, told = self.calls[0], self.calls[3]
        texts = [h.text.split() for h in told]
        print(f"  heard: {texts}")
        assert all(h.text for h in asked + told) and texts[0] != texts[1]
        assert max(len(set(text)) for text in texts) > 2, "give it another seed"
        return {
            "input/prompt_transcripts": self.ids(asked),
            "input/transcripts": self.ids(told),
            "output/asr_tokens": self.labels(told),
        }


def open_up(model) -> None:
    """Lets a transducer with random weights hear different labels, and none in some frames."""
    if hasattr(model.perception, "asr"):
        joint = model.perception.asr.joint
        out = joint.joint_net[-1]
        out.weight.data.sub_(out.weight.data.mean(0, keepdim=True))
        memory = list(model.perception.asr.decoder.parameters())
        for weight in (joint.enc.weight, joint.pred.weight, out.weight, *memory):
            weight.data.mul_(3)
        out.bias.data[len(model.perception.asr.cfg.labels)] += 4


def padded(rows):
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=-1)


def batch_of(inputs) -> dict:
    names = ("audios", "audio_lens", "input_ids", "loss_mask")
    return {name: inputs[name].clone() for name in names}


def generated(model, inputs) -> tuple[dict, float]:
    """New tokens, and the smallest margin of a greedy decision."""
    model.eval()
    more = {"audios": inputs["prompt_audios"], "audio_lens": inputs["prompt_audio_lens"]}
    more["max_new_tokens"] = int(inputs["max_new_tokens"])
    scores = model.generate(
        inputs["prompts"], return_dict_in_generate=True, output_logits=True, do_sample=False, **more
    )
    tokens = scores.sequences
    assert tokens.shape[0] == inputs["prompts"].shape[0]
    margin, is_open = 1e9, torch.ones(tokens.shape[0], dtype=torch.bool)
    for step, logits in enumerate(scores.logits):
        margin = min(margin, rf.greedy_margin(logits[is_open]))
        is_open &= tokens[:, step] != model.text_eos_id
        if not is_open.any():
            break
    beams = model.generate(
        inputs["prompts"], num_beams=int(inputs["num_beams"]), do_sample=False, **more
    )
    return {"output/tokens": tokens.clone(), "output/tokens_beam": beams.clone()}, margin


def validation(model, inputs) -> dict:
    """What validation_step collects for one batch."""
    model.eval()
    model._partial_val_losses, model._partial_accuracies = defaultdict(list), defaultdict(list)
    with torch.no_grad():
        model.validation_step({"dev": batch_of(inputs)}, 0)
    return {
        "output/val_loss": model._partial_val_losses["dev"][0].clone(),
        "output/val_acc": model._partial_accuracies["dev"][0].clone(),
    }


def first_step_outputs(model, batch) -> tuple[dict, torch.Tensor]:
    seen = {}
    prepare = model.prepare_inputs

    def watched(given):
        seen.update(prepare(given))
        return seen

    model.prepare_inputs = watched
    hook = model.register_forward_hook(lambda m, a, r: seen.update(logits=r["logits"]))
    loss = model.training_step(batch, 0)["loss"]
    hook.remove()
    model.prepare_inputs = prepare
    kept = seen["attention_mask"].unsqueeze(-1)
    seen = {k: v.detach().clone() for k, v in seen.items()}
    seen["logits"] = seen["logits"].masked_fill(kept.logical_not(), 0.0)
    return {f"output/{k}": v for k, v in {**seen, "loss": loss.detach().clone()}.items()}, loss


def train(model, inputs, clip) -> dict:
    """Three steps as a Lightning loop makes them."""
    setup = model.configure_optimizers()
    optimizer, scheduler = setup["optimizer"], setup["lr_scheduler"]["scheduler"]
    trainable = [p for group in optimizer.param_groups for p in group["params"]]
    model.train()
    tensors, losses = {}, []
    for step in range(NUM_STEPS):
        optimizer.zero_grad()
        outputs, loss = first_step_outputs(model, batch_of(inputs))
        model.backward(loss)
        losses.append(loss.detach())
        if step == 0:
            tensors.update(outputs)
            for name, parameter in rf.unique_parameters(model).items():
                if parameter.requires_grad:
                    tensors[f"grad/{name}"] = parameter.grad.detach().clone()
        torch.nn.utils.clip_grad_norm_(trainable, clip)
        optimizer.step()
        scheduler.step()
    tensors["output/losses"] = torch.stack(losses)
    is_trained = {n for n, p in model.named_parameters(remove_duplicate=False) if p.requires_grad}
    for name, tensor in rf.weights_of(model).items():
        if name in is_trained or "running_" in name:
            tensors[f"after/{NUM_STEPS}/{name}"] = tensor
    return tensors


def run(model, inputs, clip) -> tuple[dict, float]:
    heard = Transcripts(model)
    tokens, margin = generated(model, inputs)
    tensors = {**tokens, **validation(model, inputs), **train(model, inputs, clip)}
    return {**tensors, **heard.tensors()}, margin


def check(name, case, tensors, margin) -> None:
    """The file is about what its case says."""
    tokens = tensors["output/tokens"]
    ended = (tokens == case["options"]["tokens"]["eos"]).any(1)
    assert margin > 1e-3, f"{name}: margin {margin}, give it another seed"
    assert not torch.equal(tokens, tensors["output/tokens_beam"]), f"{name}: beams change nothing"
    assert 0 < tensors["output/val_acc"] < 1, f"{name}: no or all labels are right"
    distinct = min(len(set(row.tolist())) for row in tokens)
    print(f"  rows that ended: {ended.tolist()}, distinct tokens: {distinct}")


def make(name, out) -> None:
    from nemo_duplex import noise_check
    from nemo_salm_model import build_salm

    case = CASES[name]
    torch.manual_seed(case["seed"])
    model = build_salm(case["options"])
    rf.randomize(model, case["seed"])
    open_up(model)
    inputs = make_inputs(case)
    teach(model, inputs)
    weights = rf.weights_of(model)
    if hasattr(model.perception, "asr"):  # NeMo's ASR models cannot be copied
        twin = build_salm(case["options"])
        twin.load_state_dict(model.state_dict())
    else:
        twin = copy.deepcopy(model)
    rf.nudge(twin, case["seed"])
    clip = case["options"]["trainer"]["gradient_clip_val"]
    tensors, margin = run(model, inputs, clip)
    for key in noise_check(tensors, run(twin, inputs, clip)[0]):
        print(f"  left out: {key}")
        del tensors[key]
    check(name, case, tensors, margin)
    tensors.update({f"weights/{k}": v for k, v in weights.items()})
    tensors.update({f"input/{k}": v for k, v in inputs.items()})
    path = Path(out) / f"nemo_salm_{name}.safetensors"
    size = rf.write_small(path, "model", "salm", case["options"], tensors, RTOL, ATOL)
    losses = [round(x, 4) for x in tensors["output/losses"].tolist()]
    rf.report(path, size, margin=margin, losses=losses, acc=tensors["output/val_acc"].item(),
              width=tuple(tensors["output/input_embeds"].shape))


if __name__ == "__main__":
    rf.run_cases(__doc__, CASES, make)
