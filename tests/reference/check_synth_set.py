"""Reads a set made by `s2s-run data synth` with lhotse and checks that it is what it says.

usage: python check_synth_set.py FOLDER
"""

import os
import sys

import numpy as np
from lhotse import CutSet
from lhotse.qa import validate

FRAME_S = 0.08


def check_cut(cut):
    user, agent = cut.load_audio(), cut.load_target_audio()
    rate = cut.target_audio.sampling_rate
    assert user.shape == (1, round(cut.duration * 16000)), (cut.id, user.shape)
    assert agent.shape == (1, round(cut.duration * rate)), (cut.id, agent.shape)
    frames = cut.duration / FRAME_S
    assert abs(frames - round(frames)) < 1e-6, (cut.id, cut.duration)
    last_user_end = None
    for sup in cut.supervisions:
        words = [item.symbol for item in sup.alignment["word"]]
        texts = sup.text.split()
        interrupted = bool((sup.custom or {}).get("interrupted"))
        assert texts[: len(words)] == words and (interrupted or texts == words), (cut.id, sup.text)
        assert sup.end <= cut.duration + 1e-6, (cut.id, sup)
        for item in sup.alignment["word"]:
            assert sup.start - 1e-6 <= item.start and item.end <= sup.end + 1e-6, (cut.id, item)
        if sup.speaker == "user":
            last_user_end = sup.end
            continue
        assert abs(sup.start / FRAME_S - round(sup.start / FRAME_S)) < 1e-6, (cut.id, sup.start)
        assert 0.24 - 1e-6 <= sup.start - last_user_end < 0.32 + 1e-6, (cut.id, sup.start)
        begin, end = round(sup.start * rate), round(sup.end * rate)
        assert np.abs(agent[0, begin:end]).max() > 0.05, (cut.id, "the agent is not heard")
    spoken = np.zeros(agent.shape[1], bool)
    for sup in cut.supervisions:
        if sup.speaker == "agent":
            spoken[round(sup.start * rate) : round(sup.end * rate)] = True
    assert np.abs(agent[0][~spoken]).max(initial=0) < 1e-3, (cut.id, "sound outside the turns")


def main(folder):
    os.chdir(folder)
    for split in ["train", "dev", "dev_seen", "dev_turns"]:
        cuts = CutSet.from_file(f"{split}.jsonl")
        validate(cuts)
        count = 0
        for cut in cuts:
            check_cut(cut)
            count += 1
        print(f"{split}: {count} cuts hold")


if __name__ == "__main__":
    main(sys.argv[1])
