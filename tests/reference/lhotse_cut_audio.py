"""What lhotse (1.33.0) loads for cuts of every kind, with every transform that it can apply here.

    python tests/reference/lhotse_cut_audio.py --out tests/reference/data/lhotse_cut_audio

Writes audio files, cuts.jsonl (each cut's id says what it is) and, in load.safetensors.gz, load/ID,
which is cut.load_audio(), in rate.safetensors.gz rate/ID, cut.resample(22050).load_audio(), and in
custom.safetensors.gz custom/ID/NAME, cut.load_custom(NAME).
The metadata key `loose` lists ids that went through a lossy codec, whose decoders differ a little
between versions.

lhotse_cut_audio_check.py makes sets of random cuts with the functions of this file.
"""

import argparse
import json
import os
import random
from pathlib import Path

import numpy as np
import reference_file as rf
import soundfile as sf
import torch
from lhotse import AudioSource, CutSet, MonoCut, MultiCut, Recording
from lhotse.augmentation import Clipping, LoudnessNormalization, ReverbWithImpulseResponse, Volume
from lhotse.cut import MixedCut, MixTrack, PaddingCut
from safetensors.numpy import save

RATE = 16000


def tones(rng, num_samples, channels=1, rate=RATE):
    """Speech-like: tones that come and go over a little noise, on the grid of 16 bits."""
    t = np.arange(num_samples) / rate
    rows = []
    for _ in range(channels):
        low, high = rng.uniform(100, 300), rng.uniform(800, 3000)
        beat = 0.5 + 0.5 * np.sin(2 * np.pi * rng.uniform(3, 9) * t)
        wave = 0.3 * np.sin(2 * np.pi * low * t) + 0.15 * beat * np.sin(2 * np.pi * high * t)
        rows.append(wave + 0.02 * rng.standard_normal(num_samples))
    return (np.round(np.stack(rows) * 32768) / 32768).astype(np.float32)


def response(rng, num_samples, channels=1):
    t = np.arange(num_samples)
    rows = rng.standard_normal((channels, num_samples)) * np.exp(-t / (num_samples / 6)) * 0.3
    rows[:, 40] = 0.9
    return rows.astype(np.float32)


def write(folder, name, audio, rate=RATE, **settings):
    sf.write(str(folder / name), audio.T, rate, **settings)


def from_file(folder, name):
    recording = Recording.from_file(folder / name, recording_id=name)
    recording.sources[0].source = name  # beside the manifest
    return recording


def make_files(folder, seed, num_samples):
    rng = np.random.default_rng(seed)
    write(folder, "mono.wav", tones(rng, num_samples))
    write(folder, "mono.flac", tones(rng, num_samples))
    write(folder, "stereo.flac", tones(rng, num_samples, 2))
    write(folder, "left.wav", tones(rng, num_samples))
    write(folder, "right.wav", tones(rng, num_samples - 200))
    write(folder, "agent.flac", tones(rng, num_samples * 441 // 320, 1, 22050), 22050)
    write(folder, "agents.flac", tones(rng, num_samples, 2))
    write(folder, "noise.wav", tones(rng, num_samples // 2))
    write(folder, "room.flac", response(rng, 2000))
    write(folder, "rooms.flac", response(rng, 1500, 2))
    write(folder, "mono.mp3", tones(rng, num_samples), bitrate_mode="CONSTANT")
    write(folder, "mono.ogg", tones(rng, num_samples))
    write(folder, "mono.opus", tones(rng, num_samples), format="OGG", subtype="OPUS")
    names = ("mono.wav mono.flac stereo.flac agent.flac agents.flac noise.wav room.flac "
             "rooms.flac mono.mp3 mono.ogg mono.opus").split()
    recordings = {name: from_file(folder, name) for name in names}
    duration = num_samples / RATE
    recordings["two files"] = Recording(
        "two", [AudioSource("file", [0], "left.wav"), AudioSource("file", [1], "right.wav")],
        RATE, num_samples, duration)
    return recordings


def mono(recording, name, start=0.0, duration=None, channel=0, **custom):
    duration = recording.duration if duration is None else duration
    return MonoCut(name, start, duration, channel, recording=recording, custom=custom or None)


def multi(recording, name, start=0.0, duration=None, channel=(0, 1)):
    duration = recording.duration if duration is None else duration
    return MultiCut(name, start, duration, list(channel), recording=recording)


def plain_cuts(r):
    yield mono(r["mono.wav"], "mono whole")
    yield mono(r["mono.flac"], "mono part", 0.04, 0.1003)
    yield mono(r["stereo.flac"], "second channel", 0.02, 0.1, 1)
    yield multi(r["stereo.flac"], "multi whole")
    yield multi(r["stereo.flac"], "multi one", 0.01, 0.1, [1])
    yield multi(r["two files"], "multi two files")
    yield multi(r["two files"], "multi two files part", 0.03, 0.12)
    for kind in ("mp3", "ogg", "opus"):
        yield mono(r[f"mono.{kind}"], f"loose {kind} whole")
        yield mono(r[f"mono.{kind}"], f"loose {kind} part", 0.05, 0.08)
    command = Recording("command", [AudioSource("command", [0], "cat $S2S_AUDIO/mono.flac")], RATE,
                        r["mono.flac"].num_samples, r["mono.flac"].duration)
    yield mono(command, "command part", 0.04, 0.1)
    long = r["mono.wav"]
    yield mono(Recording("long", long.sources, RATE, long.num_samples + 1000,
                         (long.num_samples + 1000) / RATE), "manifest too long")
    yield mono(Recording("short", long.sources, RATE, long.num_samples - 500,
                         (long.num_samples - 500) / RATE), "manifest too short")


def custom_cuts(r):
    cut = mono(r["mono.wav"], "custom aligned", 0.02, 0.1)
    yield cut.with_custom("target_audio", r["agent.flac"])
    cut = mono(r["mono.wav"], "custom selector", 0.02, 0.1)
    cut = cut.with_custom("target_audio", r["agents.flac"])
    yield cut.with_custom("target_audio_channel_selector", 1)
    cut = mono(r["mono.wav"], "custom channels", 0.02, 0.1)
    yield cut.with_custom("target_audio", r["agents.flac"])
    cut = mono(r["mono.wav"], "custom unaligned", 0.02, 0.1)
    yield cut.with_custom("target_audio", r["agent.flac"]).with_custom("target_audio_unaligned",
                                                                       True)


def with_target(recording, target, name, start=0.0, duration=None):
    return mono(recording, name, start, duration).with_custom("target_audio", target)


def transformed_recordings(r):
    """Name and recording. "part" is cut out of it; "loose" went through a codec."""
    base, stereo = r["mono.wav"], r["stereo.flac"]
    yield "resample", base.resample(22050)
    yield "speed 0.9", base.perturb_speed(0.9)
    yield "speed 1.1", base.perturb_speed(1.1)
    yield "volume", base.perturb_volume(0.37)
    yield "speed resample volume", base.perturb_speed(1.1).resample(24000).perturb_volume(1.7)
    yield "resample speed", base.resample(8000).perturb_speed(0.95)
    yield "reverb", base.reverb_rir(r["room.flac"])
    yield "reverb early", base.reverb_rir(r["room.flac"], early_only=True, normalize_output=False)
    yield "reverb two", base.reverb_rir(r["rooms.flac"], rir_channels=[0, 1])
    yield "reverb second", base.reverb_rir(r["rooms.flac"], rir_channels=[1])
    yield "reverb random", base.reverb_rir(room_rng_seed=7, source_rng_seed=11)
    yield "loudness", base.normalize_loudness(-20.0)
    yield "stereo loudness", stereo.normalize_loudness(-30.0)
    yield "narrowband", base.narrowband("mulaw")
    yield "narrowband 8000", base.narrowband("mulaw", restore_orig_sr=False)
    yield "clip", base.clip_amplitude(gain_db=12.0)
    yield "clip hard", base.clip_amplitude(hard=True, gain_db=9.0, oversampling=None)
    yield "clip as it is", base.clip_amplitude(normalize=False, oversampling=2)
    yield "gsm", base.compress("gsm", 0.5)
    for codec in ("mp3", "opus", "vorbis"):
        yield f"loose {codec} codec", base.compress(codec, 0.5)


def transformed_cuts(r):
    for name, recording in transformed_recordings(r):
        channels = recording.num_channels
        make = mono if channels == 1 else multi
        yield make(recording, name)
        if not name.startswith("loose"):
            yield make(recording, name + " part", round(recording.duration * 0.31, 4),
                       round(recording.duration * 0.4, 4))


def mixed_cuts(r):
    base, other = mono(r["mono.wav"], "base"), mono(r["mono.flac"], "other", 0.02, 0.09)
    noise = mono(r["noise.wav"], "noise")
    d = base.duration
    both = multi(r["stereo.flac"], "both", 0.0, 0.12)

    def named(cut, name):
        return MixedCut(name, cut.tracks, cut.transforms)

    yield named(base.pad(d + 0.05), "pad right")
    yield named(base.pad(d + 0.05, direction="left"), "pad left")
    yield named(base.pad(d + 0.0503, direction="both"), "pad both")
    yield named(other.append(noise), "append")
    yield named(base.mix(noise, offset_other_by=0.0501, snr=10), "snr")
    yield named(base.mix(noise, offset_other_by=0.12, snr=-3), "snr beyond the end")
    yield named(both.mix(noise, snr=5), "stereo and mono")
    yield named(noise.mix(both, offset_other_by=0.03), "mono and stereo")
    yield named(both.mix(both, offset_other_by=0.013, snr=3), "stereo and stereo")
    yield MixedCut("noise first", [MixTrack(noise, snr=10.0),
                                   MixTrack(base, offset=0.02, is_snr_reference=True)])
    yield MixedCut("muted reference", [MixTrack(noise, snr=7.0),
                                       MixTrack(base, is_snr_reference=True, mute=True)])
    yield MixedCut("padding first", [MixTrack(PaddingCut("p", 0.1, RATE, 0.0, num_samples=1600)),
                                     MixTrack(base, offset=0.05), MixTrack(noise, snr=4.0)])
    slow = mono(r["mono.wav"].perturb_speed(0.9), "slow")
    yield named(slow.mix(noise, snr=6), "mix of transformed")
    mix = base.mix(noise, offset_other_by=0.1, snr=10)
    yield MixedCut("mix transformed", mix.tracks, [Volume(0.5), Clipping(True, 6.0, True)])
    yield MixedCut("mix loudness", mix.tracks, [LoudnessNormalization(-25.0)])
    yield MixedCut("mix reverb", mix.tracks, [ReverbWithImpulseResponse(rir=r["room.flac"])])
    with_agent = with_target(r["mono.wav"], r["agents.flac"], "with agent")
    yield named(with_agent.pad(d + 0.06), "custom of padded")
    yield named(with_agent.pad(d + 0.06, direction="left"), "custom of padded left")
    yield named(with_agent.mix(noise, snr=10), "custom of mix")
    yield named(with_agent.append(with_agent.with_id("again")), "custom of appended")


def make_cuts(recordings):
    for part in (plain_cuts, custom_cuts, transformed_cuts, mixed_cuts):
        yield from part(recordings)


def is_resampled(cut):
    """Those that are also loaded at another rate: plain ones and mixes of such."""
    if isinstance(cut, MixedCut):
        return not cut.transforms  # MixedCut.resample forgets them
    return not cut.recording.transforms and not cut.id.startswith("loose")


def load(cut):
    """What lhotse makes of one cut, by our names."""
    torch.set_num_threads(1)  # made-up rooms are not the same with several
    torch.manual_seed(11)  # from which they also draw
    loaded = {"load/" + cut.id: cut.load_audio()}
    if is_resampled(cut):
        loaded["rate/" + cut.id] = cut.resample(22050).load_audio()
    if "custom" in cut.id:
        loaded[f"custom/{cut.id}/target_audio"] = cut.load_custom("target_audio")
    return {name: np.ascontiguousarray(audio, dtype=np.float32) for name, audio in loaded.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    random.seed(0)
    save_set(out, make_cuts(make_files(out, 1, 2400)))


def save_set(out, cuts):
    os.environ["S2S_AUDIO"] = str(out.resolve())
    cuts = list(cuts)
    CutSet.from_cuts(cuts).to_file(out / "cuts.jsonl")
    here = os.getcwd()
    os.chdir(out)
    loaded = {}
    try:
        for cut in CutSet.from_file("cuts.jsonl"):
            loaded.update(load(cut))
    finally:
        os.chdir(here)
    loose = [cut.id for cut in cuts if cut.id.startswith("loose")]
    for kind in ("load", "rate", "custom"):
        some = {name: audio for name, audio in loaded.items() if name.startswith(kind)}
        content = save(some, metadata={"loose": json.dumps(loose)})
        rf.write_gz(out / f"{kind}.safetensors.gz", content)


if __name__ == "__main__":
    main()
