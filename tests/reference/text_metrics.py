"""Random texts with the numbers of sacrebleu and whisper_normalizer, for tests/core/eval.

  python text_metrics.py --out data                       # the few hundred that are committed
  python text_metrics.py --out /tmp/big --count 5000      # many; then
  S2S_TEXT_METRICS=/tmp/big/text_metrics.json.gz core_eval_test -tc='*many random*'
"""

import argparse
import random
from pathlib import Path

import reference_file as rf
import sacrebleu
from whisper_normalizer.english import EnglishTextNormalizer

PIECES = (
    "the a cat dog sat on mat is in kitchen light seven at o'clock Please turn OFF 3 12 1,000 2.5 "
    "10-20 -5 e-mail U.S.A. &quot; &amp; &lt; &gt; &amp;lt; <skipped> <unk> [x] (y) {z} $5 50% #1 "
    "a/b @home ~ ` ^ _ | \\ \" ' ... ,, .. . , ; : ! ? - -- .5 5. ,5 5, "
    "caf\u00e9 \u4f60\u597d \u201cq\u201d \u2026 \U0001f600"
).split(" ")
GLUE = [" "] * 12 + ["", "", "  ", "\t", "\n", "-\n", "\u00a0", "\u3000", "\u2028", "\x1c"]

WORDS = (
    "i we the set timer for minutes and and a half of in to at it's don't won't can't she'd "
    "they'll you're i'm let's gonna um uh hmm mm mhm mr mrs dr st what's been gone done got "
    "he's he'd we've one one two two three four five six seven eight nine ten eleven twelve "
    "thirteen fifteen nineteen twenty twenty thirty forty fifty ninety hundred hundred "
    "thousand thousand million billion o oh zero first second third fifth ninth nineth twelfth "
    "twentieth hundredth ones twos sixes twenties thousands millions minus plus negative "
    "positive dollar dollars pounds euro cent cents cents percent per point point double "
    "triple 0 1 1 2 7 10 15 100 1.5 2.0 0.07 3,000 1st 2nd 22nd 1960s 5th $1 $0.05 $2.50 "
    "\u00a35 \u20ac10 \xa27 5% 100% a1 b2b 10:30 3-4 [noise] (laughs) <b> caf\u00e9 na\u00efve "
    "\u00fcber \u0153uvre stra\u00dfe \u201cyes\u201d \u2019s '90s hello, world. yes! really? "
    "& @ # + - -- / ... o'clock y'all ma'am 'cause cause Mister THE One colour favourite "
    "theatres organised analysing travelled jewellery grey tyre programme"
).split(" ")
WORD_GLUE = [" "] * 20 + ["  ", ", ", ". ", "-", " '", "\u00a0"]


def join(rng, pieces, glue, most) -> str:
    chosen = [rng.choice(pieces) for _ in range(rng.randrange(most))]
    return "".join(p + rng.choice(glue) for p in chosen).rstrip(" ") if chosen else ""


def mutate(rng, text) -> str:
    words = text.split(" ")
    for _ in range(rng.randrange(4)):
        i = rng.randrange(len(words))
        action = rng.randrange(3)
        if action == 0:
            words[i] = rng.choice(PIECES)
        elif action == 1 and len(words) > 1:
            del words[i]
        else:
            words.insert(i, rng.choice(PIECES))
    return " ".join(words)


def record(score) -> dict:
    return {"score": score.score, "matches": score.counts, "totals": score.totals,
            "hypothesis_tokens": score.sys_len, "reference_tokens": score.ref_len}


def bleu(rng, count) -> dict:
    pairs = []
    for _ in range(count):
        reference = join(rng, PIECES, GLUE, 14)
        random_hypothesis = rng.random() < 0.3
        hypothesis = join(rng, PIECES, GLUE, 14) if random_hypothesis else mutate(rng, reference)
        pairs.append((hypothesis, reference))
    sentences = [{"hypothesis": h, "reference": r, **record(sacrebleu.sentence_bleu(h, [r]))}
                 for h, r in pairs]
    corpora, size = [], 10
    for start in range(0, count, size):
        part = pairs[start:start + size]
        score = sacrebleu.corpus_bleu([h for h, _ in part], [[r for _, r in part]])
        corpora.append({"first": start, "count": len(part), **record(score)})
    return {"sentences": sentences, "corpora": corpora}


def normaliser(rng, count) -> list:
    normalise = EnglishTextNormalizer()
    pairs = []
    while len(pairs) < count:
        text = join(rng, WORDS, WORD_GLUE, 10)
        try:
            pairs.append([text, normalise(text)])
        except (AssertionError, ValueError, TypeError):  # the original gives up on a few
            continue
    return pairs


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    data = {"bleu": bleu(rng, arguments.count), "normaliser": normaliser(rng, arguments.count)}
    arguments.out.mkdir(parents=True, exist_ok=True)
    path = arguments.out / "text_metrics.json.gz"
    print(path, rf.write_json(path, data), "bytes")


if __name__ == "__main__":
    main()
