"""Reference files of speech recognizers: NeMo's ASR models (nemo_toolkit 3.0.0) and transformers'
Parakeet (5.23.0), CPU, float32, eval mode.

    python tests/reference/recognizers.py --out tests/reference/data [--case NAME] [--list]

kind=scorer. `options` is the model_config.yaml as JSON, or a config.json. Random weights, fixed by
seeds.

  input/audio, lengths         noise; one row is shorter.
  input/labels, label_lengths  texts, for the networks in training and for losses.
  output/features, lengths     [B,T,H].
  output/logits, ctc_logits    of CTC, as the class gives them.
  output/prediction            of the prediction network in training, [B,U+1,H].
  output/projected             of the frames for the joint network, [B,T,J].
  output/joint                 [B,T,U+1,V].
  output/ids                   greedy, without blanks; -1 behind. NeMo: its batched search.
  output/id_lengths, id_frames the number of ids, and the frame of each.
  output/frame_ids             of CTC, the best of each frame.
  output/loss                  NeMo: CTC, RNN-T, or TDTLossPytorch; transformers: the class's.

recognizer.nemo is the archive of an EncDecCTCModelBPE, whose tokenizer is a SentencePiece model;
recognizer.json has the texts that it hears in the audio of nemo_asr_ctc, and the confidences of
their words.
"""

import argparse
import copy
import tempfile
from pathlib import Path

import torch

import reference_file as rf
from nemo_duplex_cases import encoder, preprocessor
from nemo_fastconformer import PARAKEET

RTOL, ATOL = 1e-4, 5e-5
LENGTHS = (16000, 9333)
LABELS = [chr(97 + i) for i in range(11)]
MODULES = "nemo.collections.asr.modules."
PRED, JOINT = 12, 16
DURATIONS = (0, 1, 2, 4)
TEXTS = (
    "the cat sat on the mat", "a dog ran to the cat", "the mat is on the dog", "cats and dogs ran",
)


def nemo_options(**more) -> dict:
    return {"sample_rate": 16000, "preprocessor": preprocessor(),
            "encoder": encoder(subsampling_factor=4), **more}


def ctc_decoder(labels) -> dict:
    return {"_target_": MODULES + "ConvASRDecoder", "feat_in": 16, "num_classes": len(labels),
            "vocabulary": labels}


def transducer(durations=(), dropout=0.2, activation="relu") -> dict:
    options = {
        "labels": LABELS,
        "model_defaults": {"enc_hidden": 16, "pred_hidden": PRED, "joint_hidden": JOINT},
        "decoder": {
            "_target_": MODULES + "RNNTDecoder", "normalization_mode": None,
            "random_state_sampling": False, "blank_as_pad": True, "vocab_size": len(LABELS),
            "prednet": {"pred_hidden": PRED, "pred_rnn_layers": 2, "dropout": 0.0},
        },
        "joint": {
            "_target_": MODULES + "RNNTJoint", "log_softmax": None, "fuse_loss_wer": False,
            "num_classes": len(LABELS), "vocabulary": LABELS,
            "jointnet": {"joint_hidden": JOINT, "activation": activation, "dropout": dropout,
                         "encoder_hidden": 16, "pred_hidden": PRED},
        },
        "decoding": {"strategy": "greedy_batch", "greedy": {"max_symbols": 3}},
    }
    if durations:
        options["joint"]["num_extra_outputs"] = len(durations)
        options["decoding"] |= {"durations": list(durations), "model_type": "tdt"}
        options["loss"] = {"loss_name": "tdt", "tdt_kwargs": {
            "durations": list(durations), "sigma": 0.02, "omega": 0.1,
            "fastemit_lambda": 0.0, "clamp": -1.0}}
    return options


def parakeet(kind, **more) -> dict:
    return {"architectures": ["ParakeetFor" + kind.upper()], "model_type": "parakeet_" + kind,
            "encoder_config": {**PARAKEET, "num_hidden_layers": 1, "subsampling_factor": 4},
            **more}


RNNT_HEAD = {"vocab_size": 12, "blank_token_id": 11, "pad_token_id": 2, "decoder_hidden_size": 16,
             "num_decoder_layers": 2, "max_symbols_per_step": 3, "hidden_act": "relu"}
# blank: what is added to the blank's score, so that texts are neither empty nor full.
CASES = {
    "nemo_ctc": {"options": nemo_options(labels=LABELS, decoder=ctc_decoder(LABELS)),
                 "seed": 61, "blank": 0.5},
    "nemo_rnnt": {"options": nemo_options(**transducer()), "seed": 62, "blank": 3.0},
    "nemo_tdt": {"options": nemo_options(**transducer(DURATIONS, 0.0, "tanh")), "seed": 63,
                 "blank": 1.0},
    "nemo_hybrid": {"options": nemo_options(
        **transducer(), aux_ctc={"decoder": ctc_decoder(LABELS), "ctc_loss_weight": 0.3,
                                 "use_cer": False, "decoding": {"strategy": "greedy_batch"}}),
        "seed": 64, "blank": 3.0},
    "hf_parakeet_ctc": {"options": parakeet("ctc", vocab_size=12, pad_token_id=11,
                                            ctc_loss_reduction="mean", ctc_zero_infinity=True),
                        "seed": 65, "blank": 0.5},
    "hf_parakeet_rnnt": {"options": parakeet("rnnt", **RNNT_HEAD), "seed": 68, "blank": 3.0},
    "hf_parakeet_tdt": {"options": parakeet("tdt", **RNNT_HEAD, durations=[0, 1, 2, 3]),
                        "seed": 69, "blank": 0.5},
}


def pad_rows(rows, fill=-1):
    width = max(max(len(row) for row in rows), 1)
    return torch.tensor([list(row) + [fill] * (width - len(row)) for row in rows])


def found(labels, frames) -> dict:
    return {"output/ids": pad_rows(labels), "output/id_frames": pad_rows(frames),
            "output/id_lengths": torch.tensor([len(row) for row in labels])}


def merged(best, lengths, blank) -> dict:
    """Of the best label of each frame, what CTC reads."""
    labels, frames = [], []
    for row, length in zip(best.tolist(), lengths.tolist()):
        keep = [t for t in range(length) if row[t] != blank and (t == 0 or row[t - 1] != row[t])]
        labels.append([row[t] for t in keep])
        frames.append(keep)
    return found(labels, frames)


class Nemo:
    def __init__(self, options):
        from nemo.collections.asr import models
        from omegaconf import DictConfig

        kind = models.EncDecCTCModel
        if "joint" in options:
            kind = models.EncDecRNNTModel
        if "aux_ctc" in options:
            kind = models.EncDecHybridRNNTCTCModel
        if "tokenizer" in options:
            kind = models.EncDecCTCModelBPE
        self.model = kind(cfg=DictConfig(copy.deepcopy(options))).eval()
        self.has_joint = "joint" in options
        self.is_tdt = bool(options.get("loss"))
        self.ctc = getattr(self.model, "ctc_decoder", None) or (
            None if self.has_joint else self.model.decoder)
        self.ctc_name = "output/ctc_logits" if self.has_joint else "output/logits"

    def heads(self):
        if self.has_joint:
            yield self.model.joint.joint_net[-1], len(LABELS)
        if self.ctc is not None:
            yield self.ctc.decoder_layers[0], self.ctc.num_classes_with_blank - 1

    def settle(self, seed):
        if self.has_joint:
            rf.draw(self.model.joint.pred.weight, 9 * seed, 0.0, 1.5)
            rf.draw(self.model.decoder.prediction["embed"].weight, 11 * seed, 0.0, 1.5)
            self.model.decoder.prediction["embed"].weight.data[-1].zero_()  # as in trained ones

    def run(self, inputs) -> dict:
        model, labels, counts = self.model, inputs["labels"], inputs["label_lengths"]
        mel, mel_lengths = model.preprocessor(input_signal=inputs["audio"].clone(),
                                              length=inputs["lengths"])
        encoded, lengths = model.encoder(audio_signal=mel, length=mel_lengths)
        out = {"output/features": encoded.transpose(1, 2), "output/lengths": lengths.long()}
        if self.ctc is not None:
            logits = self.ctc(encoder_output=encoded)
            best = logits.argmax(-1)
            out |= {self.ctc_name: logits, "output/frame_ids": best}
            if not self.has_joint:
                out |= merged(best, lengths, logits.shape[-1] - 1)
                out["output/loss"] = model.loss(log_probs=logits, targets=labels,
                                                input_lengths=lengths, target_lengths=counts)
        if not self.has_joint:
            return out
        prediction, _, _ = model.decoder(targets=labels, target_length=counts)
        joint = model.joint(encoder_outputs=encoded, decoder_outputs=prediction)
        out |= {"output/prediction": prediction.transpose(1, 2), "output/joint": joint,
                "output/projected": model.joint.project_encoder(encoded.transpose(1, 2))}
        if self.is_tdt:
            from nemo.collections.asr.losses.rnnt_pytorch import TDTLossPytorch

            torch.Tensor.cuda = lambda tensor: tensor  # where it keeps a table
            loss = TDTLossPytorch(len(LABELS), list(DURATIONS), "mean_batch", sigma=0.02)
            out["output/loss"] = loss(acts=joint, labels=labels, act_lens=lengths,
                                      label_lens=counts)
        else:
            out["output/loss"] = model.loss(log_probs=joint, targets=labels,
                                            input_lengths=lengths, target_lengths=counts)
        texts = model.decoding.rnnt_decoder_predictions_tensor(encoded, lengths,
                                                               return_hypotheses=True)
        rows = [[int(x) for x in text.y_sequence] for text in texts]
        frames = [[int(x) for x in text.timestamp] for text in texts]
        return out | found(rows, frames)


class Parakeet:
    def __init__(self, options):
        from transformers import ParakeetFeatureExtractor
        from transformers.models.parakeet import configuration_parakeet, modeling_parakeet

        kind = options["model_type"].split("_")[1].upper()
        config = getattr(configuration_parakeet, f"Parakeet{kind}Config")(**options)
        self.model = getattr(modeling_parakeet, f"ParakeetFor{kind}")._from_config(
            config, attn_implementation="eager").eval()
        self.extract = ParakeetFeatureExtractor(feature_size=config.encoder_config.num_mel_bins)
        self.kind, self.config = kind, config

    def heads(self):
        if self.kind == "CTC":
            yield self.model.ctc_head, self.config.pad_token_id
        else:
            yield self.model.joint.head, self.config.blank_token_id

    def settle(self, seed):
        if self.kind != "CTC":
            rf.draw(self.model.decoder.decoder_projector.weight, 9 * seed, 0.0, 1.5)
            rf.draw(self.model.decoder.embedding.weight, 11 * seed, 0.0, 1.5)

    def run(self, inputs) -> dict:
        rows = [row[:n].numpy() for row, n in zip(inputs["audio"], inputs["lengths"].tolist())]
        mel = self.extract(rows, sampling_rate=16000, return_tensors="pt")
        given = {"input_features": mel["input_features"], "attention_mask": mel["attention_mask"]}
        heard = self.model.encoder(**given)
        lengths = heard.attention_mask.bool().sum(1)
        out = {"output/features": heard.last_hidden_state, "output/lengths": lengths}
        if self.kind == "CTC":
            labels = inputs["labels"].clone()
            for row, count in zip(labels, inputs["label_lengths"].tolist()):
                row[count:] = -100
            result = self.model(**given, labels=labels)
            best = self.model.generate(**given)
            out |= {"output/logits": result.logits, "output/loss": result.loss,
                    "output/frame_ids": best}
            return out | merged(best, lengths, self.config.pad_token_id)
        blank = self.config.blank_token_id
        start = torch.full((len(rows), 1), blank)
        starts = torch.cat([start, inputs["labels"]], dim=1)
        result = self.model(**given, decoder_input_ids=starts)
        out |= {"output/prediction": self.model.decoder(starts), "output/joint": result.logits,
                "output/projected": result.pooler_output}
        # Labels count until a blank (RNN-T) or a pad (TDT).
        none = blank if self.kind == "RNNT" else self.config.pad_token_id
        counted = inputs["labels"].clone()
        for row, count in zip(counted, inputs["label_lengths"].tolist()):
            row[count:] = none
        out["output/loss"] = self.model(**given, decoder_input_ids=starts, labels=counted).loss
        suppressed = list(range(self.config.vocab_size, self.model.joint.head.out_features))
        made = self.model.generate(
            **given, decoder_start_token_id=blank,
            suppress_tokens=suppressed if suppressed else None)
        labels, frames = [], []
        times = made.durations.cumsum(1)
        for row, moved, length in zip(made.sequences.tolist(), times.tolist(), lengths.tolist()):
            keep = [i for i in range(1, len(row)) if row[i] != blank and moved[i - 1] < length]
            labels.append([row[i] for i in keep])
            frames.append([moved[i - 1] for i in keep])
        return out | found(labels, frames)


def prepared(case, seed):
    kind = case.get("peer") or (Parakeet if "model_type" in case["options"] else Nemo)
    peer = kind(case["options"])
    rf.randomize(peer.model, seed, head_gain=1.0)
    for head, blank in peer.heads():
        rf.draw(head.weight, 7 * seed, 0.0, 0.9)
        head.bias.data[blank] += case["blank"]
    peer.settle(seed)
    return peer


def make(name, out, case=None) -> None:
    """case: of another script, with the class that runs it and further inputs."""
    case = case or CASES[name]
    seed = case["seed"]
    torch.manual_seed(seed)
    with torch.no_grad():
        peer = prepared(case, seed)
        labels = torch.randint(0, 11, (2, 4), generator=torch.Generator().manual_seed(seed))
        inputs = {"audio": rf.noise_audio(len(LENGTHS), LENGTHS, seed + 2000),
                  "lengths": torch.tensor(LENGTHS), "labels": labels,
                  "label_lengths": torch.tensor([4, 3])}
        inputs |= case.get("inputs", {})
        tensors = {key: value.detach().clone() for key, value in peer.run(inputs).items()}
        twin = prepared(case, seed)
        rf.nudge(twin.model, seed)
        ratios = rf.noise_ratio(tensors, twin.run(inputs), RTOL, ATOL)
    worst = max(ratios, key=ratios.get)
    weights = {n: t for n, t in rf.weights_of(peer.model).items() if "spec_augment" not in n}
    tensors |= {f"weights/{n}": t for n, t in weights.items()}
    tensors |= {f"input/{n}": t for n, t in inputs.items()}
    plain = name.removeprefix("hf_").removesuffix("_beam")
    path = Path(out) / f"{name.replace('nemo_', 'nemo_asr_')}.safetensors"
    size = rf.write_small(path, "scorer", plain, case["options"], tensors, RTOL, ATOL)
    rf.report(path, size, noise=ratios[worst], at=worst, frames=tensors["output/lengths"].tolist(),
              ids=tensors["output/ids"].tolist())
    assert ratios[worst] < 0.5, f"ill-conditioned: {worst}"
    assert tensors["output/id_lengths"].min() > 2, "give it another seed"


def word_confidences(model, heard) -> list:
    """Of the words of each clip, with NeMo's default method."""
    from nemo.collections.asr.parts.submodules.ctc_decoding import CTCBPEDecoding

    decoding = CTCBPEDecoding({"strategy": "greedy_batch", "confidence_cfg": {
        "preserve_word_confidence": True}}, tokenizer=model.tokenizer)
    texts = decoding.ctc_decoder_predictions_tensor(
        heard["output/logits"], heard["output/lengths"], return_hypotheses=True)
    return [[round(x, 6) for x in text.word_confidence] for text in texts]


def make_archive(out) -> None:
    """EncDecCTCModelBPE.save_to, and what the model hears."""
    import sentencepiece

    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        (Path(folder) / "texts").write_text("\n".join(TEXTS) + "\n")
        sentencepiece.SentencePieceTrainer.train(
            input=f"{folder}/texts", model_prefix=f"{folder}/tokenizer", vocab_size=24,
            model_type="bpe", normalization_rule_name="identity", bos_id=-1, eos_id=-1,
            minloglevel=2)
        (Path(folder) / "vocab.txt").write_text("")
        options = nemo_options(
            tokenizer={"dir": folder, "type": "bpe"},
            decoder={**ctc_decoder([]), "num_classes": -1})
        torch.manual_seed(71)
        peer = Nemo(options)
        rf.randomize(peer.model, 71, head_gain=1.0)
        for head, _ in peer.heads():
            rf.draw(head.weight, 71, 0.0, 1.5)
        clips = CASES["nemo_ctc"]["seed"] + 2000  # the clips of that case
        inputs = {"audio": rf.noise_audio(len(LENGTHS), LENGTHS, clips),
                  "lengths": torch.tensor(LENGTHS), "labels": torch.zeros(2, 2).long(),
                  "label_lengths": torch.tensor([1, 1])}
        heard = peer.run(inputs)
        ids = heard["output/ids"].tolist()
        rows = [[i for i in row if i >= 0] for row in ids]
        texts = [peer.model.tokenizer.ids_to_text(row) for row in rows]
        sure = word_confidences(peer.model, heard)
        peer.model.save_to(str(Path(out) / "recognizer.nemo"))
    rf.write_json(Path(out) / "recognizer.json", {"texts": texts, "confidences": sure})
    print("recognizer.nemo", (Path(out) / "recognizer.nemo").stat().st_size, texts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=str(Path(__file__).parent / "data"))
    parser.add_argument("--case", action="append", choices=[*sorted(CASES), "archive"])
    parser.add_argument("--list", action="store_true", help="names only")
    args = parser.parse_args()
    if args.list:
        print("\n".join([*sorted(CASES), "archive"]))
        return
    for name in args.case or [*CASES, "archive"]:
        make_archive(args.out) if name == "archive" else make(name, args.out)


if __name__ == "__main__":
    main()
