"""Reference files of training NeMo's ASR models (nemo_toolkit 3.0.0, CPU, float32).

    python tests/reference/nemo_asr.py --out tests/reference/data [--case NAME] [--list]

kind=model, name=asr. Random weights, seeded, without dropout and SpecAugment.

  input/source_audio,      noise; one row is shorter.
  input/source_audio_lens
  input/labels,            texts of different lengths.
  input/label_lengths
  output/loss              of the first training step (the module in train mode), with its parts
  output/transducer_loss,  where the model has two.
  output/ctc_loss
  output/losses            of three optimizer steps.
  output/val_loss          in eval mode, with weights/*.
  grad/*                   of the first step, of some weights.

The losses are NeMo's classes: CTCLoss, RNNTLoss (warprnnt_numba), TDTLossPytorch, with mean_batch,
and in the hybrid model with mean_volume.
"""

from pathlib import Path

import torch

import reference_file as rf
from recognizers import DURATIONS, LABELS, Nemo, ctc_decoder, nemo_options, transducer

NUM_STEPS, SIGMA = 3, 0.02
RTOL, ATOL = 1e-4, 5e-5
LENGTHS = (16000, 9333, 12800)
TEXT_LENGTHS = (7, 3, 0)
AUX = {"decoder": ctc_decoder(LABELS), "ctc_loss_weight": 0.3, "use_cer": False,
       "ctc_reduction": "mean_volume",
       "decoding": {"strategy": "greedy_batch"}}
GRADS = ("encoder.pre_encode.out.weight", "decoder.prediction.embed.weight",
         "decoder.prediction.dec_rnn.lstm.bias_hh_l0", "joint.pred.bias",
         "joint.joint_net.2.weight", "ctc_decoder.decoder_layers.0.weight")
CASES = {
    "tdt": {"options": nemo_options(**transducer(DURATIONS)), "seed": 84},
    "hybrid": {"options": nemo_options(**transducer(activation="tanh"), aux_ctc=AUX,
                                       rnnt_reduction="mean_volume"),
               "seed": 87},
}


class Peer(Nemo):
    """With NeMo's losses, as training_step computes them."""

    def __init__(self, options):
        super().__init__(options)
        if self.has_joint:
            self.model.joint.joint_net[1].p = 0.0
        if self.is_tdt:
            from nemo.collections.asr.losses.rnnt_pytorch import TDTLossPytorch

            torch.Tensor.cuda = lambda tensor: tensor  # where it keeps a table
            loss = TDTLossPytorch(len(LABELS), list(DURATIONS), "mean_batch", sigma=SIGMA)
            self.rnnt = lambda joint, labels, lengths, counts: loss(
                acts=joint, labels=labels, act_lens=lengths, label_lens=counts)
        elif self.has_joint:
            self.rnnt = lambda joint, labels, lengths, counts: self.model.loss(
                log_probs=joint, targets=labels, input_lengths=lengths, target_lengths=counts)

    def losses(self, inputs) -> dict:
        model, labels, counts = self.model, inputs["labels"], inputs["label_lengths"]
        mel, mel_lengths = model.preprocessor(input_signal=inputs["source_audio"].clone(),
                                              length=inputs["source_audio_lens"])
        encoded, lengths = model.encoder(audio_signal=mel, length=mel_lengths)
        out = {}
        if self.ctc is not None:
            loss = model.ctc_loss if self.has_joint else model.loss
            out["ctc_loss"] = loss(log_probs=self.ctc(encoder_output=encoded), targets=labels,
                                   input_lengths=lengths, target_lengths=counts)
        if self.has_joint:
            prediction, _, _ = model.decoder(targets=labels, target_length=counts)
            joint = model.joint(encoder_outputs=encoded, decoder_outputs=prediction)
            out["transducer_loss"] = self.rnnt(joint, labels, lengths, counts)
        weight = AUX["ctc_loss_weight"]
        out["loss"] = sum(out.values()) if len(out) == 1 else (
            (1 - weight) * out["transducer_loss"] + weight * out["ctc_loss"])
        return out


def training_options(options) -> dict:
    """What a run of ours reads: without dropout."""
    model = {**options, "optimizer": {"_target_": "torch.optim.AdamW", "lr": 1e-3,
                                      "betas": [0.9, 0.98], "weight_decay": 0.01, "eps": 1e-8}}
    if "loss" in options:  # omega draws the loss of a step
        kwargs = {**options["loss"]["tdt_kwargs"], "omega": 0.0}
        model["loss"] = {**options["loss"], "tdt_kwargs": kwargs}
    if "joint" in options:
        jointnet = {**options["joint"]["jointnet"], "dropout": 0.0}
        model["joint"] = {**options["joint"], "jointnet": jointnet}
    return {"model": model, "trainer": {"gradient_clip_val": 1.0}}


def run(peer, inputs) -> dict:
    model = peer.model
    with torch.no_grad():
        tensors = {"output/val_loss": peer.losses(inputs)["loss"]}
    model.train()
    parameters = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=1e-3, betas=(0.9, 0.98), weight_decay=0.01)
    losses = []
    for step in range(NUM_STEPS):
        optimizer.zero_grad()
        found = peer.losses(inputs)
        found["loss"].backward()
        losses.append(found["loss"].detach())
        if step == 0:
            tensors |= {f"output/{k}": v.detach().clone() for k, v in found.items()}
            tensors |= {f"grad/{n}": p.grad.detach().clone()
                        for n, p in model.named_parameters() if n in GRADS}
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
    return tensors | {"output/losses": torch.stack(losses)}


def prepared(case) -> Peer:
    peer = Peer(case["options"])
    rf.randomize(peer.model, case["seed"], head_gain=1.0)
    for head, _ in peer.heads():
        rf.draw(head.weight, 7 * case["seed"], 0.0, 0.5)
    with torch.no_grad():
        peer.settle(case["seed"])
    return peer


def make(name, out) -> None:
    case = CASES[name]
    seed = case["seed"]
    torch.manual_seed(seed)
    peer = prepared(case)
    labels = torch.randint(0, len(LABELS), (3, 7), generator=torch.Generator().manual_seed(seed))
    inputs = {"source_audio": rf.noise_audio(len(LENGTHS), LENGTHS, seed + 2000),
              "source_audio_lens": torch.tensor(LENGTHS), "labels": labels,
              "label_lengths": torch.tensor(TEXT_LENGTHS)}
    weights = {n: t for n, t in rf.weights_of(peer.model).items() if "spec_augment" not in n}
    tensors = run(peer, inputs)
    twin = prepared(case)
    rf.nudge(twin.model, seed)
    ratios = rf.noise_ratio(tensors, run(twin, inputs), RTOL, ATOL)
    worst = max(ratios, key=ratios.get)
    tensors |= {f"weights/{n}": t for n, t in weights.items()}
    tensors |= {f"input/{n}": t for n, t in inputs.items()}
    path = Path(out) / f"nemo_asr_train_{name}.safetensors"
    size = rf.write_small(path, "model", "asr", training_options(case["options"]), tensors, RTOL,
                          ATOL)
    rf.report(path, size, noise=ratios[worst], at=worst,
              losses=[round(x, 4) for x in tensors["output/losses"].tolist()])
    assert ratios[worst] < 0.5, f"ill-conditioned: {worst}"


if __name__ == "__main__":
    rf.run_cases(__doc__, CASES, make)
