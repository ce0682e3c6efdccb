"""The random configurations of lhotse_loader_check.py: of the data of nemo_loader_data.py."""

import random

import nemo_loader

TARRED = {**nemo_loader.TARRED, "manifest_filepath": "whole/manifest__OP_0..3_CL_.json"}


# ---- What is read.

def leaf(rng, is_tarred):
    if not is_tarred:
        found = rng.choice([{"type": "lhotse", "cuts_path": "first.jsonl"},
                            {"type": "lhotse", "cuts_path": "second.jsonl"},
                            {"type": "nemo", "manifest_filepath": "parts/manifest_{0..3}.json"},
                            {"type": "lhotse", "cuts_path": "translated.jsonl"},
                            {"type": "nemo", "manifest_filepath": "translated.json"},
                            {"type": "nemo", "manifest_filepath": "parts/manifest_2.json"}])
    else:
        found = rng.choice([{"type": "lhotse_shar", "shar_path": "shar/first"},
                            {"type": "lhotse_shar", "shar_path": ["shar/first", "shar/second"]},
                            {"type": "lhotse_shar", "shar_path": [["shar/first", 3],
                                                                  ["shar/second", 1]]},
                            dict(TARRED, type="nemo_tarred"),
                            dict(TARRED, type="nemo_tarred_to_duplex")])
    if rng.random() < 0.2:
        found["shuffle"] = rng.random() < 0.5
    if rng.random() < 0.2:
        found["shard_seed"] = rng.randrange(100)
    if rng.random() < 0.1 and is_tarred:
        found["slice_length"] = rng.randint(1, 4)
    return found


def group(rng, is_tarred, depth):
    weighted = rng.random() < 0.7
    items = []
    for i in range(rng.randint(1, 3)):
        is_group = depth > 1 and (i == 0 or rng.random() < 0.5)
        item = leaf(rng, is_tarred)
        if is_group:
            item = {"type": "group", "input_cfg": group(rng, is_tarred, depth - 1)}
            if rng.random() < 0.3:
                item["shard_seed"] = rng.randrange(100)
            if rng.random() < 0.3:
                item["shuffle"] = rng.random() < 0.5
            if rng.random() < 0.2:
                item["text_field"] = "answer"
        if weighted:
            item["weight"] = rng.choice([0.3, 1, 7, 2.5])
        if rng.random() < 0.4:
            item["tags"] = {rng.choice("abc"): rng.choice([1, "x", {"deep": [1, 2.5]}, True])}
        items.append(item)
    return items


def read(rng):
    is_tarred = rng.random() < 0.5
    if rng.random() < 0.4:
        found = leaf(rng, is_tarred)
        if found.pop("type") != "nemo_tarred_to_duplex":
            found.pop("shard_seed", None)
            return found
    depth = rng.randint(1, 3)
    found = {"input_cfg": group(rng, is_tarred, depth)}
    kind = rng.randrange(3)
    if kind == 0:
        found["reweight_temperature"] = rng.choice([0.0, 0.5, 2])
    if kind == 1:
        found["reweight_temperature"] = [rng.choice([0.0, 0.5, 1, 3]) for _ in range(depth)]
    if rng.random() < 0.2:
        # Passes that overlap over shuffled files count otherwise here, on purpose.
        is_sharded = is_tarred or "{0..3}" in str(found)
        found["max_open_streams"] = 1 if is_sharded else rng.randint(1, 3)
    if rng.random() < 0.2 and "max_open_streams" not in found:
        found["force_finite"] = True
    return found


# ---- What is done with it.

def changes(rng, source):
    found = {}
    def maybe(share, **options):
        if rng.random() < share:
            found.update(options)
    maybe(0.2, noise_path="second.jsonl", noise_mix_prob=rng.choice([0.3, 1]))
    if "noise_path" in found and rng.random() < 0.4:
        found["noise_snr"] = [-5, 5.5]
    # Passes that overlap count by their number here, on purpose.
    if not any(kind in source for kind in ("manifest", "tarred", "shar_path")):
        maybe(0.4, perturb_speed=True)
    maybe(0.2, truncate_duration=rng.choice([0.2, 0.33]),
          truncate_offset_type=rng.choice(["random", "start", "end"]))
    maybe(0.2, cut_into_windows_duration=rng.choice([0.2, 0.3]))
    if "cut_into_windows_duration" in found and rng.random() < 0.5:
        found["cut_into_windows_hop"] = 0.15
    maybe(0.3, keep_excessive_supervisions=False)
    maybe(0.2, pad_min_duration=0.35,
          pad_direction=rng.choice(["left", "right", "both"]))
    maybe(0.2, min_duration=0.15, max_duration=0.75)
    maybe(0.1, keep="fail")
    maybe(0.1, max_cer=0.03)
    return found


def after(rng):
    found = {}
    def maybe(share, **options):
        if rng.random() < share:
            found.update(options)
    maybe(0.2, concatenate_samples=True, concatenate_gap_seconds=rng.choice([0, 0.1]),
          concatenate_duration_factor=rng.choice([1, 2.0]), db_norm=rng.choice([None, -25]),
          concatenate_merge_supervisions=rng.random() < 0.5)
    maybe(0.15, lowpass_enabled=True, lowpass_frequencies_interval=[1000, 3500])
    maybe(0.15, clipping_enabled=True, clipping_prob=0.7)
    maybe(0.25, rir_enabled=True, rir_prob=rng.choice([0.5, 1]))
    if "rir_enabled" in found and rng.random() < 0.7:
        found["rir_path"] = "rooms.jsonl"
    # lhotse loses the echo of a mixed cut that it compresses.
    maybe(0 if "rir_enabled" in found else 0.2, compression_enabled=True,
          compression_codecs=["opus", "mp3"],
          compression_codec_weights=rng.choice([None, [1, 3]]))
    return found


TWO_D = [[0.25, 5], [0.25, 12], [0.5, 8], [0.5, 14], [1.2, 13], [1.2, 30]]


def limits(rng):
    found = {}
    kind = rng.randrange(3)
    if kind != 1:
        found["batch_duration"] = rng.choice([0.8, 1.5, 2.5])
    if kind != 0:
        found["batch_size"] = rng.randint(1, 6)
    if rng.random() < 0.3:
        found["quadratic_duration"] = rng.choice([0.3, 2])
    return found


def batches(rng):
    found = {"shuffle": rng.random() < 0.6, "shuffle_buffer_size": rng.choice([1, 5, 40]),
             "bucket_buffer_size": rng.choice([6, 20, 80]), "drop_last": rng.random() < 0.2}
    kind = rng.randrange(6)
    if kind < 2:
        return {**found, **limits(rng)}
    if kind == 2:
        return {**found, **limits(rng), "use_bucketing": True, "num_buckets": rng.randint(2, 4),
                "max_duration": rng.choice([0.9, 1.2])}
    if kind == 3:
        return {**found, **limits(rng), "bucket_duration_bins": [0.2, 0.3, 0.5]}
    if kind == 4:
        return {**found, "bucket_duration_bins": [0.25, 0.4, 0.9], "bucket_batch_size": [4, 3, 2]}
    two = {**found, "letters": True, "bucket_duration_bins": TWO_D,
           "bucketing_2d_strict_mode": rng.random() < 0.6,
           "bucket_batch_size": [5, 4, 4, 3, 2, 1]}
    if rng.random() < 0.4:
        two["max_tps"] = [40, 50, 25, 30, 40, 1000]
    return two


def one_set(rng):
    source = read(rng)
    found = {**source, **changes(rng, str(source)), **after(rng), **batches(rng)}
    if rng.random() < 0.2:
        found.update({"letters": True, "min_tps": rng.choice([8, 15])})
        if not isinstance(found.get("max_tps"), list):
            found["max_tps"] = rng.choice([30, 60.5])
    return found


def several_sets(rng):
    """NeMo wants all of them tarred, or none."""
    found = {"multi_config": True, "shuffle": rng.random() < 0.5,
             "sampler_fusion": rng.choice(["round_robin", "randomized_round_robin", "zip"])}
    names = ["a", "b", "c"][:rng.randint(1, 3)]
    if found["sampler_fusion"] == "randomized_round_robin" and rng.random() < 0.6:
        found["sampler_weights"] = {name: rng.choice([0.5, 1, 4]) for name in names}
    for name in names:
        one = one_set(rng)
        found["letters"] = one.pop("letters", False) or found.get("letters", False)
        found[name] = {**one, "force_iterable_dataset": True}
    return found


def cases(seed, count):
    rng = random.Random(seed)
    for i in range(count):
        config = several_sets(rng) if rng.random() < 0.2 else one_set(rng)
        found = {"letters": config.pop("letters", False), "count": 6,
                 "passes": 1 if config.get("sampler_fusion") == "zip" else 2}
        config.update(seed=rng.randrange(50), shard_seed=rng.randrange(50))
        # Codecs and rooms are not compared to the last bit.
        # Loudness needs pyloudnorm, which lhotse does not bring.
        if not any(key in str(config) for key in ("compression", "rir_enabled", "'db_norm': -25")):
            found["audio"] = f"audio-{i}"
        yield {**found, "config": config}


def listening_cases():
    """Utterances as dialogues: one recording in NeMo, and a cut with padding behind it here."""
    for i, silence in enumerate((-0.08, 0.25, 0.1003, 0, 2, -0.08, 0.25)):
        leaf = {"type": "nemo_tarred_to_duplex", "agent_silence_duration": silence,
                **(TARRED if i < 5 else nemo_loader.TARRED)}
        yield {"letters": False, "count": 12, "passes": 1, "audio": f"listening{i}",
               "is_recording": True, "has_parts": i >= 5,
               "config": {"batch_size": 2, "seed": 1, "shard_seed": 2,
                          "input_cfg": [leaf]}}
