"""Golden vectors of the package voicebench (0.2.0): speech by levels and the metrics of turns.

    python -m venv venv && venv/bin/pip install voicebench==0.2.0
    venv/bin/python tests/reference/voicebench_turns.py --out tests/reference/data

voicebench_turns.json.gz has random dialogues, what the package's `analyze` says of each turn, and
`summarize` of all. A track is the rule that `track` follows; there is no audio. In "metric" the
expectations are those of our metric: ignore in the data set "noise", stop for a turn that begins
while the agent speaks, otherwise respond.
"""

import argparse
import gzip
import json
import random
from pathlib import Path

import numpy as np
from voicebench import audio, metrics, scenario, vad
from voicebench.runner import Packet, SessionRecord, TurnWindow

DIALOGUES, PERIOD = 210, 4099
FLOOR = -70.0  # runner._PACKET_FLOOR_DB


def noise() -> np.ndarray:
    """Numbers between -1 and 1 of a linear congruential generator, which C++ repeats."""
    state, out = 1, []
    for _ in range(PERIOD):
        state = (state * 1103515245 + 12345) % 2**31
        out.append(state / 2**30 - 1)
    return np.array(out)


NOISE = noise()


def track(rule: dict, rate: int) -> np.ndarray:
    """`samples` of silence, and in each [begin, end, amplitude] noise with that peak."""
    out = np.zeros(rule["samples"], dtype=np.float32)
    for begin, end, amplitude in rule["sounds"]:
        out[begin:end] = amplitude * NOISE[np.arange(begin, end) % PERIOD]
    return out if rule["rate"] == rate else audio.resample(out, rule["rate"], rate)


def padded(samples: np.ndarray, size: int) -> np.ndarray:
    return np.concatenate([samples, np.zeros(size - samples.size, dtype=np.float32)])


def amplitude(rng) -> float:
    """The peak of noise; its level is 4.8 dB below. Many are near the thresholds."""
    level = rng.choice([rng.uniform(-30, -10), rng.uniform(-30, -10), rng.uniform(-30, -10),
                        rng.uniform(-53, -38), rng.uniform(-53, -38), -64])
    return round(10 ** (level / 20), 6)


def sounds(rng, rate: int, count: int, end: int) -> list:
    found, at = [], rng.choice([0, 0, rng.randrange(end // 3 + 1)])
    for _ in range(count):
        seconds = rng.choice([0.03, 0.05, 0.06, 0.2, 0.8, 1.5, 2.5])
        length = int(rate * seconds * rng.uniform(0.9, 1))
        stop = min(at + length, end)
        if stop > at:
            found.append([at, stop, amplitude(rng)])
        at = stop + int(rate * rng.choice([0, 0.1, 0.24, 0.26, 0.5, 1.2, 3]) * rng.uniform(0.9, 1))
    return found


def dialogue(rng, i: int) -> dict:
    rate = rng.choice([8000, 16000, 16000, 24000])
    seconds = rng.uniform(2, 12)
    rules = {}
    for name in ("user", "agent"):
        own_rate = rng.choice([rate, rate, 16000, 22050])
        size = int(seconds * own_rate * rng.choice([1, 1, 0.8]))
        count = rng.choice([0, 1, 2, 3, 4, 5, 6])
        rules[name] = {"rate": own_rate, "samples": size,
                       "sounds": sounds(rng, own_rate, count, size)}
    count = 2 * rng.choice([0, 0, 0, 1, 2])
    edges = sorted(round(rng.uniform(0, seconds), 3) for _ in range(count))
    turns = [[edges[k], edges[k + 1]] for k in range(0, len(edges), 2)]
    for begin, end, _ in rules["user"]["sounds"] if rng.random() < 0.9 else []:
        own = [round(begin / rules["user"]["rate"], 3), round(end / rules["user"]["rate"], 3)]
        if all(own[0] >= t[1] or own[1] <= t[0] for t in turns):
            turns.append(own)
    turns.sort()
    found = {"rate": rate, **rules, "turns": turns,
             "set": rng.choice(["speech", "speech", "noise"]),
             "expect": [rng.choice(["respond", "stop", "ignore"]) for _ in turns],
             "packet_ms": rng.choice([20, 20, 80]),
             "response_timeout_ms": rng.choice([5000, 5000, 700]),
             "max_stop_ms": rng.choice([1000, 1000, 300])}
    if i % 4 == 0:
        found["vad"] = {"threshold_db": rng.choice([-45.0, -40.0]),
                        "hysteresis_db": rng.choice([0.0, 6.0, 10.0]),
                        "frame_ms": rng.choice([10.0, 20.0, 7.5]),
                        "min_speech_ms": rng.choice([0.0, 50.0, 100.0]),
                        "min_silence_ms": rng.choice([0.0, 100.0, 600.0])}
    return found


def record(case: dict, expect: list[str]) -> SessionRecord:
    """A session as if each stretch of packet_ms came when it is heard."""
    rate = case["rate"]
    config = vad.VadConfig(**case.get("vad", {}))
    turns = tuple(scenario.Turn(str(i), scenario.AudioSpec(), scenario.StartRule(), e,
                                response_timeout_ms=case["response_timeout_ms"],
                                max_stop_ms=case["max_stop_ms"]) for i, e in enumerate(expect))
    user, agent = track(case["user"], rate), track(case["agent"], rate)
    size = max(user.size, agent.size)
    user, agent = padded(user, size), padded(agent, size)
    length = audio.ms_to_samples(case["packet_ms"], rate)
    packets = [Packet(begin / rate, level, length / rate)
               for begin in range(0, size - length + 1, length)
               if (level := audio.rms_dbfs(agent[begin:begin + length])) > FLOOR]
    return SessionRecord(
        scenario.Scenario("random", turns, sample_rate=rate, user_vad=config, agent_vad=config),
        {}, "virtual", user, agent,
        [TurnWindow(t, *window, "anchor") for t, window in zip(turns, case["turns"])], packets)


def of_metric(case: dict) -> list[str]:
    """The expectations that our metric has."""
    if case["set"] == "noise":
        return ["ignore"] * len(case["turns"])
    found = metrics.analyze(record(case, ["stop"] * len(case["turns"]))).turns
    return ["stop" if t.user_onset_s is not None and "nothing to stop" not in " ".join(t.notes)
            else "respond" for t in found]


def result(turn) -> list:
    return [turn.response_latency_ms, turn.ttfa_ms, turn.stop_latency_ms,
            *(int(bool(v)) for v in (turn.responded, turn.talk_over, turn.stopped,
                                     turn.false_barge_in, turn.spurious_response, turn.passed))]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()
    rng = random.Random(20)
    cases = [dialogue(rng, i) for i in range(DIALOGUES)]
    sums = {}
    for case in cases:
        found = metrics.analyze(record(case, case["expect"]))
        case["results"] = [result(t) for t in found.turns]
        frame = audio.ms_to_samples(case.get("vad", {}).get("frame_ms", 10), case["rate"])
        case["speech"] = [[round(time * case["rate"] / frame) for s in segments
                           for time in (s.start, s.end)]
                          for segments in (found.user_segments, found.agent_segments)]
        case["overlap_ms"], case["talk_over_ms"] = found.overlap_ms, found.talk_over_ms
        options = tuple(case[k] for k in
                        ("rate", "packet_ms", "response_timeout_ms", "max_stop_ms"))
        if "vad" not in case:
            sums.setdefault(options, []).append(metrics.analyze(record(case, of_metric(case))))
    summaries = [[*options, metrics.summarize(sessions)] for options, sessions in sums.items()]
    counts = [sum(s[-1][k] for s in summaries) for k in
              ("turns", "turns_passed", "barge_in_turns", "noise_turns", "talk_overs",
               "false_barge_ins", "spurious_responses", "missed_responses")]
    text = json.dumps({"dialogues": cases, "metric": summaries}, separators=(",", ":"))
    path = Path(arguments.out) / "voicebench_turns.json.gz"
    path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
    print(len(cases), "dialogues,", sum(len(c["turns"]) for c in cases), "turns,", counts,
          len(summaries), "summaries,", path.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
