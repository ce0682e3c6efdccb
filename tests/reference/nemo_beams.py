"""Reference files of NeMo's beam searches and confidences (nemo_toolkit 3.0.0, CPU, float32).

    python tests/reference/nemo_beams.py --out tests/reference/data [--case NAME] [--list]

kind=scorer, as those of recognizers.py: the same networks with weights of other seeds. One of the
labels is the space between words. `options` has NeMo's decoding block.

  input/beam_size               of every search.
  output/ids, id_lengths, ...   of the greedy search.
  output/id_confidence          of each label, -1 after them; _with_blanks: exclude_blank is false.
  output/word_confidence        of each word.
  output/frame_confidence_NAME  CTC: of each frame by each measure; _1: with alpha 1.
  output/hypotheses_SEARCH      all texts of all clips, best first, by beam_batch (CTC), or beam,
                                malsd_batch and maes.
  output/scores_SEARCH          their scores, a row for each clip.
  output/id_frames_SEARCH       of the best texts.

CTC: each clip is searched by itself, because NeMo's batched search goes on after the end of a
shorter clip. TDT: NeMo's beam and maes give the end of a label in place of its frame.
"""

import copy

import torch
from omegaconf import OmegaConf

import recognizers
import reference_file as rf
from recognizers import DURATIONS, Nemo, ctc_decoder, found, nemo_options, pad_rows, transducer

BEAM = {"beam_size": 4, "score_norm": True, "max_symbols": 3, "beam_beta": 0.4,
        "beam_threshold": 5.0, "beam_alpha": None, "kenlm_path": None,
        "softmax_temperature": 0.8, "maes_num_steps": 3, "maes_prefix_alpha": 2,
        "maes_expansion_gamma": 2.0, "maes_expansion_beta": 2, "return_best_hypothesis": False}
MEASURES = ("max_prob", *(f"entropy_{kind}_{norm}" for kind in ("gibbs", "tsallis", "renyi")
                          for norm in ("lin", "exp")))


def method(name, **more) -> dict:
    return {"name": name, "entropy_type": "tsallis", "alpha": 0.33, "entropy_norm": "exp"} | more


def confidence(aggregation, method_cfg, **more) -> dict:
    return {"preserve_frame_confidence": True, "preserve_token_confidence": True,
            "preserve_word_confidence": False, "exclude_blank": True, "aggregation": aggregation,
            "tdt_include_duration": False, "method_cfg": method_cfg} | more


class Beams(Nemo):
    """Runs each search of NeMo's decoding classes."""

    def __init__(self, options):
        super().__init__(options)
        self.decoding, self.labels = options["decoding"], options["labels"]

    def decoder(self, changes):
        cfg = OmegaConf.create(copy.deepcopy(self.decoding | changes))
        if self.has_joint:
            from nemo.collections.asr.parts.submodules.rnnt_decoding import RNNTDecoding

            return RNNTDecoding(cfg, self.model.decoder, self.model.joint, self.labels)
        from nemo.collections.asr.parts.submodules.ctc_decoding import CTCDecoding

        return CTCDecoding(cfg, self.labels)

    def decode(self, decoder, encoded, lengths):
        if self.has_joint:
            return decoder.rnnt_decoder_predictions_tensor(encoded, lengths,
                                                           return_hypotheses=True)
        return decoder.ctc_decoder_predictions_tensor(self.ctc(encoder_output=encoded), lengths,
                                                      return_hypotheses=True)

    def words_of(self, decoder, ids, text) -> list:
        """NeMo's sums, which its own texts do not reach: CTC models of characters fail there, and
        TDT models lose labels."""
        words = "".join(self.labels[i] for i in ids).split()
        return decoder._aggregate_token_confidence_chars(words, text.token_confidence)

    def greedy(self, encoded, lengths) -> dict:
        if self.has_joint:
            texts = self.decode(self.decoder({}), encoded, lengths)
            out = found([[int(x) for x in t.y_sequence] for t in texts],
                        [[int(x) for x in t.timestamp] for t in texts])
        else:
            logits = self.ctc(encoder_output=encoded)
            out = self.measures(logits) | recognizers.merged(logits.argmax(-1), lengths,
                                                             len(self.labels))
        ids = [[i for i in row if i >= 0] for row in out["output/ids"].tolist()]
        for end, exclude_blank in (("", True), ("_with_blanks", False)):
            cfg = self.decoding["confidence_cfg"] | {"exclude_blank": exclude_blank}
            decoder = self.decoder({"confidence_cfg": cfg,
                                    "preserve_alignments": not exclude_blank})
            texts = self.decode(decoder, encoded, lengths)
            rows = [[float(x) for x in t.token_confidence] for t in texts]
            out[f"output/id_confidence{end}"] = pad_rows(rows).float()
            out[f"output/word_confidence{end}"] = pad_rows(
                [self.words_of(decoder, row, text) for row, text in zip(ids, texts)]).float()
        return out

    def measures(self, log_probs) -> dict:
        from nemo.collections.asr.parts.utils.asr_confidence_utils import (
            get_confidence_measure_bank)

        bank, num_labels = get_confidence_measure_bank(), log_probs.shape[-1]
        alpha = self.decoding["confidence_cfg"]["method_cfg"]["alpha"]
        powers = [(name, "", alpha) for name in MEASURES]
        powers += [(name, "_1", 1.0) for name in MEASURES[:3]]
        return {f"output/frame_confidence_{name}{end}": bank[name](log_probs, num_labels, power)
                for name, end, power in powers}

    def search(self, encoded, lengths, strategy) -> dict:
        decoder = self.decoder({"strategy": strategy})
        if self.has_joint:
            texts = self.decode(decoder, encoded, lengths)
        else:
            texts = [self.decode(decoder, row[None, :, :n], n[None])[0]
                     for row, n in zip(encoded, lengths)]
        out = {"hypotheses": pad_rows([[int(x) for x in t.y_sequence if x != len(self.labels)]
                                       for row in texts for t in row]),
               "scores": pad_rows([[t.score for t in row] for row in texts]).float()}
        if not self.is_tdt or strategy == "malsd_batch":
            out["id_frames"] = pad_rows([[int(x) for x in row[0].timestamp] for row in texts])
        return {f"output/{name}_{strategy}": value for name, value in out.items()}

    def run(self, inputs) -> dict:
        mel, mel_lengths = self.model.preprocessor(input_signal=inputs["audio"].clone(),
                                                   length=inputs["lengths"])
        encoded, lengths = self.model.encoder(audio_signal=mel, length=mel_lengths)
        out = {"output/lengths": lengths.long(), **self.greedy(encoded, lengths)}
        for strategy in ("beam", "malsd_batch", "maes") if self.has_joint else ("beam_batch",):
            out |= self.search(encoded, lengths, strategy)
        return out


def with_words(options, space, confidence_cfg) -> dict:
    """space: the label between words."""
    options = copy.deepcopy(options)
    labels = [" " if i == space else label for i, label in enumerate(recognizers.LABELS)]
    decoding = options.get("decoding", {}) | {
        "strategy": "greedy_batch", "beam": BEAM, "confidence_cfg": confidence_cfg}
    for block in (options, options["decoder"], options.get("joint", {})):
        for key in ("labels", "vocabulary"):
            if key in block:
                block[key] = labels
    return options | {"decoding": decoding}


# blank: as in recognizers.py.
CASES = {
    "nemo_ctc_beam": {
        "options": with_words(
            nemo_options(labels=recognizers.LABELS, decoder=ctc_decoder(recognizers.LABELS)), 4,
            confidence("mean", method("entropy", entropy_type="gibbs", entropy_norm="lin",
                                      alpha=0.5))),
        "seed": 164, "blank": 1.0},
    "nemo_rnnt_beam": {
        "options": with_words(nemo_options(**transducer()), 1,
                              confidence("min", method("entropy"))),
        "seed": 166, "blank": 6.0},
    "nemo_tdt_beam": {
        "options": with_words(nemo_options(**transducer(DURATIONS, 0.0, "tanh")), 1,
                              confidence("prod", method("max_prob", alpha=0.7),
                                         tdt_include_duration=True)),
        "seed": 177, "blank": 4.0},
}


def make(name, out) -> None:
    inputs = {"beam_size": torch.tensor([BEAM["beam_size"]])}
    recognizers.make(name, out, CASES[name] | {"peer": Beams, "inputs": inputs})


if __name__ == "__main__":
    rf.run_cases(__doc__, CASES, make)
