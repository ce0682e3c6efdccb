"""Golden vectors of the validation metrics of NeMo's DuplexSTTModel, from texts.

    python tests/reference/nemo_stt_metrics.py --out tests/reference/data

nemo_stt_metrics.json: `sets` maps the name of a data set to its examples (`target`, `text`, `src`,
`src_text`: the agent's reference and answer, the user's reference and what the model wrote of it),
and `metrics` has what NeMo's metric classes compute from them, by the names that the model logs
(without its prefix `val_`). Answers are updated as in DuplexSTTModel.validation_step, time stamps
of `eval_text_turn_taking` included; `text` is the answer without them.
"""

import argparse
import random
import re
import tempfile
from pathlib import Path

from nemo.collections.speechlm2.parts.metrics.bleu import BLEU
from nemo.collections.speechlm2.parts.metrics.results_logger import ResultsLogger
from nemo.collections.speechlm2.parts.metrics.wer import WER

import reference_file as rf

SETS = ("dev", "far_field", "web-qa", "llama-qa", "trivia-qa")
WORDS = (
    "set the timer for twenty five minutes please it's Paris London Mister Dr colour light on off "
    "won't 12 3rd $5 um Hello, you're answer is half past two"
).split(" ")


def words(rng, least, most) -> list[str]:
    return [rng.choice(WORDS) for _ in range(rng.randrange(least, most))]


def changed(rng, text) -> list[str]:
    out = list(text)
    for _ in range(rng.randrange(4)):
        i = rng.randrange(len(out) + 1)
        if rng.random() < 0.4 and out:
            del out[min(i, len(out) - 1)]
        else:
            out.insert(i, rng.choice(WORDS))
    return out


def example(rng, is_question) -> dict:
    options = [words(rng, 1, 4) for _ in range(rng.randrange(1, 4) if is_question else 1)]
    target = words(rng, 3, 10) if not is_question else []
    user = words(rng, 2, 9)
    chosen = rng.choice(options) if is_question else target
    said = changed(rng, chosen)
    if is_question and said:
        rng.shuffle(said)
    if rng.random() < 0.1:
        said = []
    return {
        "target": "; ".join(" ".join(o) for o in options) if is_question else " ".join(target),
        "text": " ".join(said),
        "src": " ".join(user),
        "src_text": " ".join(changed(rng, user)),
    }


def stamped(rng, text) -> str:
    return f" <|{rng.randrange(90) / 12.5}|> {text} <${rng.randrange(90) / 12.5}$> "


def metrics_of(rng, sets) -> dict:
    bleu, src_bleu, src_wer = BLEU(verbose=False), BLEU(verbose=False), WER(verbose=False)
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        results = ResultsLogger(folder).reset()
        for name, examples in sets.items():
            for first in range(0, len(examples), 3):  # batches
                batch = examples[first:first + 3]
                refs, src_refs = ([e[k] for e in batch] for k in ("target", "src"))
                texts = [stamped(rng, e["text"]) for e in batch]
                src_texts = [e["src_text"] for e in batch]
                clean = [re.sub(r"<[\|$].*?[\|$]>", "", s).strip() for s in texts]
                assert clean == [e["text"] for e in batch]
                bleu.update(name=name, refs=refs, hyps=clean)
                src_bleu.update(name=name, refs=src_refs, hyps=src_texts)
                src_wer.update(name=name, refs=src_refs, hyps=src_texts)
                results.update(name=name, refs=refs, hyps=texts, src_refs=src_refs,
                               src_hyps=src_texts,
                               samples_id=[f"{name}{first + i}" for i in range(len(batch))])
        for name, values in results.compute_and_save().items():
            found[f"{name}_acc"] = values["acc"].item()
    found |= {k: v.item() for k, v in bleu.compute().items()}
    for metric in (src_bleu, src_wer):
        found |= {f"src_{k}": v.item() for k, v in metric.compute().items()}
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    rng = random.Random(5)
    sets = {name: [example(rng, name.endswith("qa")) for _ in range(10)] for name in SETS}
    metrics = metrics_of(rng, sets)
    assert all(0 < metrics[f"{n}_acc"] < 1 for n in SETS if n.endswith("qa")), metrics
    assert all(0 < metrics[f"src_wer_{n}"] < 1 for n in SETS), metrics
    rf.write_json(arguments.out / "nemo_stt_metrics.json", {"sets": sets, "metrics": metrics})


if __name__ == "__main__":
    main()
