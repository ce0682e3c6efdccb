"""`s2s-run score` beside jiwer, sacrebleu and Whisper's normalizers, on 1,000 random pairs.

    python tests/reference/score_check.py build/bin/s2s-run

Two systems repeat the same references with errors of their own. For each normalizer: WER and CER
are jiwer's and BLEU is sacrebleu's to 1e-9. Confidence intervals and p-values of the paired
bootstrap come from random samples, and ours are other ones: they agree with sacrebleu's as well as
two of its own seeds agree. Exit code 77 where a package is missing.
"""

import json
import math
import random
import subprocess
import sys
import tempfile
from pathlib import Path

try:
    import jiwer
    import sacrebleu
    from sacrebleu.metrics import BLEU
    from sacrebleu.significance import PairedTest
    from whisper_normalizer.basic import BasicTextNormalizer
    from whisper_normalizer.english import EnglishTextNormalizer
except ImportError as missing:
    print(f"skipped: {missing}; pip install -r tests/reference/requirements-peers.txt")
    sys.exit(77)

PAIRS, SAMPLES = 1000, 5000
WORDS = ("the a Cat dog, house runs. sleeps GREEN old quickly on under table man woman sees and "
         "river tree colour twenty-one 3 forty two $5 50% won't it's Mr. Smith don't gonna uh "
         "Dr. Jones caf\u00e9 na\u00efve organise 1,000 point five o'clock (laughs) [noise] hmm "
         "first 2nd \u20ac20 one hundred and five theatre").split(" ")
NORMALIZERS = {"english": EnglishTextNormalizer(), "basic": BasicTextNormalizer(),
               "none": lambda text: text}


def references(rng) -> list[str]:
    return [" ".join(rng.choice(WORDS) for _ in range(rng.randint(4, 18))) for _ in range(PAIRS)]


def with_errors(texts, rate, seed) -> list[str]:
    rng, made = random.Random(seed), []
    for text in texts:
        words = []
        for word in text.split(" "):
            draw = rng.random() / rate
            if draw < 1:
                words.append(rng.choice(WORDS))
            elif 1.3 <= draw < 1.6:
                words += [word, rng.choice(WORDS)]
            elif draw >= 1.6:
                words.append(word)
        made.append(" ".join(words))
    return made


def scored(tool, folder, systems, texts, normalizer) -> dict:
    files = []
    for name, said in systems.items():
        path = folder / f"{name}.jsonl"
        path.write_text("".join(json.dumps({"id": str(i), "pred_text": s, "text": t}) + "\n"
                                for i, (s, t) in enumerate(zip(said, texts))))
        files.append(str(path))
    return json.loads(subprocess.run(
        [tool, "score", *files, "--normalizer", normalizer, "--json", "--samples", str(SAMPLES)],
        check=True, capture_output=True, text=True).stdout)


def check(what, ours, theirs, tolerance) -> bool:
    if math.isclose(ours, theirs, rel_tol=tolerance, abs_tol=tolerance):
        return True
    print(f"{what}: ours {ours}, theirs {theirs}")
    return False


def check_values(ours, said, texts, name) -> bool:
    scores = ours["scores"]
    return all([
        check(f"{name} wer", scores["wer"]["value"], jiwer.wer(texts, said), 1e-9),
        check(f"{name} cer", scores["cer"]["value"], jiwer.cer(texts, said), 1e-9),
        check(f"{name} bleu", scores["bleu"]["value"], sacrebleu.corpus_bleu(said, [texts]).score,
              1e-9)])


def check_bootstrap(ours, systems, texts) -> bool:
    theirs = PairedTest(list(systems.items()), {"BLEU": BLEU()}, references=[texts],
                        test_type="bs", n_samples=SAMPLES)()[1]["BLEU"]
    good = True
    for system, result in zip(ours["systems"], theirs):
        bleu = system["scores"]["bleu"]
        good &= check("half width of the interval", (bleu["high"] - bleu["low"]) / 2, result.ci,
                      0.06)
    p = ours["comparisons"][0]["scores"]["bleu"]["p_value"]
    # Three standard deviations of the difference of two estimates of a probability.
    spread = 3 * math.sqrt(2 * max(theirs[1].p_value, 1 / SAMPLES) / SAMPLES)
    return good & check("p-value", p, theirs[1].p_value, spread)


def main() -> int:
    rng = random.Random(7)
    texts, good = references(rng), True
    systems = {"a": with_errors(texts, 0.20, 1), "b": with_errors(texts, 0.21, 2)}
    with tempfile.TemporaryDirectory() as name:
        for normalizer, function in NORMALIZERS.items():
            ours = scored(sys.argv[1], Path(name), systems, texts, normalizer)
            plain = [function(text) for text in texts]
            heard = {k: [function(text) for text in said] for k, said in systems.items()}
            kept = [i for i, text in enumerate(plain) if text.strip()]
            assert len(kept) > 0.99 * PAIRS
            for system, (key, said) in zip(ours["systems"], heard.items()):
                good &= check_values(system, said, plain, f"{normalizer} {key}")
            good &= check_bootstrap(ours, heard, plain)
            print(normalizer, {k: round(v["value"], 4) for k, v in
                               ours["systems"][0]["scores"].items()},
                  "p", ours["comparisons"][0]["scores"]["bleu"]["p_value"])
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
