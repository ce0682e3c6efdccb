"""What NeMo's Lhotse loader reads: small data sets of every kind and, for a list of
configurations, the cuts and batches that NeMo 3.0 makes of them.

    python nemo_loader.py data/nemo_loader

Needs the packages of requirements-nemo.txt. The data are made anew each time, the same bytes for
the same versions.
"""

import json
import os
import shutil
import sys
from pathlib import Path

from lhotse import MonoCut, Recording
from nemo.collections.common.data.lhotse import dataloader as nemo
from nemo.collections.common.data.lhotse.cutset import read_cutset_from_config
from nemo_loader_data import RATE, make_data
from omegaconf import OmegaConf

import reference_file as rf

TARRED = {"manifest_filepath": "tarred/manifest__OP_0..3_CL_.json",
          "tarred_audio_filepaths": "tarred/audio__OP_0..3_CL_.tar"}
SHAR = [{"type": "lhotse_shar", "shar_path": "shar/first", "weight": 0.3, "tags": {"part": 1}},
        {"type": "lhotse_shar", "shar_path": "shar/second", "weight": 0.7}]
TALKS = {"type": "multimodal_conversation", "manifest_filepath": "talks.jsonl",
         "audio_locator_tag": "[audio]", "token_equivalent_duration": 0.1}


def streams():
    """name -> configuration; what read_cutset_from_config gives is written down."""
    yield "plain", {"manifest_filepath": "plain.json"}
    yield "plain_metadata", {"manifest_filepath": "plain.json", "metadata_only": True}
    yield "plain_fields", {"manifest_filepath": "plain.json", "text_field": "answer",
                           "lang_field": "speaker"}
    yield "parts", {"manifest_filepath": "parts/manifest_{0..3}.json"}
    yield "parts_shuffled", {"manifest_filepath": "parts/manifest_{0..3}.json", "shuffle": True}
    yield "parts_list", {"manifest_filepath": ["parts/manifest_0.json", "parts/manifest_1.json"]}
    yield "tarred", TARRED
    yield "tarred_shuffled", dict(TARRED, shuffle=True)
    yield "tarred_once", dict(TARRED, shuffle=True, force_finite=True)
    yield "tarred_slice", dict(TARRED, shuffle=True, slice_length=2)
    yield "tarred_single", dict(TARRED, manifest_filepath="tarred/tarred_audio_manifest.json")
    yield "tarred_fewer", dict(TARRED, manifest_filepath="fewer/manifest__OP_0..3_CL_.json",
                               skip_missing_manifest_entries=True)
    yield "tarred_lists", {
        "manifest_filepath": [["tarred/manifest_{0..3}.json", 2],
                              ["tarred/manifest_{0..1}.json", 1]],
        "tarred_audio_filepaths": [["tarred/audio_{0..3}.tar"], ["tarred/audio_{0..1}.tar"]],
        "shuffle": True}
    yield "tarred_open_streams", {
        "manifest_filepath": [["tarred/manifest_{0..1}.json"], ["tarred/manifest_{2..3}.json"]],
        "tarred_audio_filepaths": [["tarred/audio_{0..1}.tar"], ["tarred/audio_{2..3}.tar"]],
        "max_open_streams": 2}
    extra = [{"type": "text_iter", "name": "question", "path": "questions.txt"},
             {"type": "text_sample", "name": "drawn", "path": "questions.txt"}]
    yield "extra_fields", {"input_cfg": [
        {"type": "nemo", "manifest_filepath": "plain.json", "extra_fields": extra}]}
    yield "extra_fields_tarred", {"input_cfg": [
        dict(TARRED, type="nemo_tarred", extra_fields=extra)]}
    yield "cuts", {"cuts_path": "first.jsonl"}
    yield "shar", {"shar_path": "shar/first"}
    yield "shar_list", {"shar_path": ["shar/first", "shar/second"]}
    yield "shar_weights", {"shar_path": [["shar/first", 1], ["shar/second", 4]]}
    yield "shar_fields", {"shar_path": {"cuts": "shar/first/cuts.{000000..000003}.jsonl.gz",
                                        "recording": "shar/first/recording.{000000..000003}.tar",
                                        "target_audio":
                                            "shar/first/target_audio.{000000..000003}.tar"}}
    yield "shar_slice", {"shar_path": "shar/first", "slice_length": 2}
    yield "shar_once", {"shar_path": ["shar/first", "shar/second"], "force_finite": True}
    yield "mix", {"input_cfg": SHAR}
    yield "mix_unweighted", {"input_cfg": [{k: v for k, v in s.items() if k != "weight"}
                                           for s in SHAR]}
    yield "mix_temperature", {"input_cfg": SHAR, "reweight_temperature": 0.3}
    yield "mix_file", {"input_cfg": "nested.yaml"}
    yield "mix_groups", {"reweight_temperature": [0.5, 0.0], "input_cfg": [
        {"type": "group", "weight": 2, "tags": {"group": "a"}, "input_cfg": SHAR},
        {"type": "group", "weight": 5, "tags": {"group": "b", "deep": {"x": [1, 2.5]}},
         "input_cfg": "nested.yaml"},
        dict(TARRED, type="nemo_tarred", weight=1, shuffle=True)]}
    yield "mix_inherit", {"shuffle": True, "input_cfg": [
        dict(TARRED, type="nemo_tarred", shuffle=False),
        dict(TARRED, type="nemo_tarred", shard_seed=11)]}
    yield "mix_open_streams", {"max_open_streams": 2, "input_cfg": [
        {"type": "nemo", "manifest_filepath": f"parts/manifest_{i}.json", "weight": i + 1}
        for i in range(4)]}
    yield "mix_forced", {"force_iterable_dataset": True, "input_cfg": [
        {"type": "lhotse", "cuts_path": "first.jsonl"}, dict(TARRED, type="nemo_tarred")]}
    for silence in (-0.08, 0.25):
        yield f"to_duplex{silence}", {"input_cfg": [
            dict(TARRED, type="nemo_tarred_to_duplex", agent_silence_duration=silence)]}
    yield "overlap", {"input_cfg": [
        {"type": "s2s_duplex_overlap_as_s2s_duplex", "cuts_path": "first.jsonl",
         "move_agent_text_back_by": 0.02}]}
    yield "overlap_filtered", {"input_cfg": [
        {"type": "s2s_duplex_overlap_as_s2s_duplex", "shar_path": "shar/first",
         "filter_samples_starting_with_agent": True}]}
    yield "reverse", {"input_cfg": [
        {"type": "s2s_duplex_reverse_role", "cuts_path": "first.jsonl"}]}
    yield "reverse_mix", {"input_cfg": [
        {"type": "s2s_duplex_reverse_role", "target_user_name": "caller", "input_cfg": SHAR}]}
    yield "talks", {"input_cfg": [TALKS]}
    yield "talks_shuffled", {"shuffle": True, "input_cfg": [TALKS]}
    yield "shared", {"input_cfg": [dict(TALKS, type="share_gpt", manifest_filepath="shared.jsonl",
                                        audio_placeholders=["<sound>"])]}


def samplers():
    """name -> configuration; batches of the sampler are written down."""
    cuts = {"cuts_path": "first.jsonl"}
    shar = {"shar_path": ["shar/first", "shar/second"]}
    yield "count", dict(cuts, batch_size=3)
    yield "count_shuffled", dict(cuts, batch_size=3, shuffle=True, shuffle_buffer_size=4)
    yield "seconds", dict(cuts, batch_duration=1.2, shuffle=True)
    yield "quadratic", dict(cuts, batch_duration=1.5, quadratic_duration=0.5)
    yield "drop_last", dict(cuts, batch_size=4, drop_last=True)
    yield "filters", dict(cuts, batch_size=3, min_duration=0.2, max_duration=0.5)
    yield "keep", dict(cuts, batch_size=3, keep="fail")
    yield "buckets", dict(shar, batch_duration=1.5, use_bucketing=True, num_buckets=3,
                          max_duration=1.0, shuffle=True, bucket_buffer_size=12)
    yield "bins", dict(shar, batch_size=3, bucket_duration_bins=[0.2, 0.3, 0.5], shuffle=True,
                       bucket_buffer_size=12)
    yield "fixed", dict(shar, bucket_duration_bins=[0.25, 0.4, 0.9], bucket_batch_size=[4, 3, 2],
                        shuffle=True, bucket_buffer_size=10)
    yield "estimated", dict(shar, batch_duration=1.5, use_bucketing=True, num_buckets=2,
                            shuffle=False, num_cuts_for_bins_estimate=8, bucket_buffer_size=8)
    yield "tarred", dict(TARRED, batch_size=4, shuffle=True, shuffle_buffer_size=6)
    yield "mix", {"input_cfg": SHAR, "batch_size": 4, "shuffle": True, "shuffle_buffer_size": 6}
    yield "speed", dict(cuts, batch_size=4, perturb_speed=True)
    yield "truncated", dict(cuts, batch_size=4, truncate_duration=0.2,
                            truncate_offset_type="start")
    yield "truncated_random", dict(cuts, batch_size=4, truncate_duration=0.2)
    yield "windows", dict(cuts, batch_size=4, cut_into_windows_duration=0.2,
                          cut_into_windows_hop=0.15)
    yield "padded", dict(cuts, batch_size=4, pad_min_duration=0.4)
    yield "noise", dict(cuts, batch_size=4, noise_path="second.jsonl", noise_mix_prob=0.6)
    yield "joined", dict(cuts, batch_size=5, concatenate_samples=True)
    yield "lowpass", dict(cuts, batch_size=4, lowpass_enabled=True,
                          lowpass_frequencies_interval=[1000, 3500])
    yield "clipped", dict(cuts, batch_size=4, clipping_enabled=True)
    yield "compressed", dict(cuts, batch_size=4, compression_enabled=True,
                             compression_codecs=["opus", "mp3"])


TWO_D = {"shar_path": ["shar/first", "shar/second"], "shuffle": True, "bucket_buffer_size": 20,
         "bucket_duration_bins": [[0.25, 9], [0.25, 13], [0.5, 8], [0.5, 14], [1.2, 13],
                                  [1.2, 30]],
         "bucket_batch_size": [5, 4, 4, 3, 2, 1]}


def more_samplers():
    """As samplers; with a tokenizer of letters."""
    yield "two_d", TWO_D
    yield "two_d_lenient", dict(TWO_D, bucketing_2d_strict_mode=False)
    yield "two_d_ratio", dict(TWO_D, max_tps=[70, 60, 25, 40, 40, 1000])
    yield "tokens_per_second", {"shar_path": "shar/first", "batch_size": 3, "min_tps": 15,
                                "max_tps": 50.5}
    yield "one_d_ratios", {"cuts_path": "first.jsonl", "bucket_duration_bins": [0.25, 0.4, 0.9],
                           "bucket_batch_size": [4, 3, 2], "max_tps": [1, 1, 1]}
    yield "translated", {"cuts_path": "translated.jsonl", "batch_size": 2, "min_tps": 5}
    yield "translated_manifest", {"manifest_filepath": "translated.json", "batch_duration": 1,
                                  "shuffle": True, "perturb_speed": True}
    yield "joined_turns", dict(SETS["first"], concatenate_samples=True, db_norm=None,
                               concatenate_merge_supervisions=False,
                               concatenate_duration_factor=2.0, concatenate_gap_seconds=0,
                               clipping_enabled=True)
    yield "rooms", dict(SETS["first"], rir_enabled=True, rir_path="rooms.jsonl", rir_prob=0.7)
    yield "windows_everywhere", dict(SETS["second"], cut_into_windows_duration=0.2,
                                     cut_into_windows_hop=0.15, perturb_speed=True,
                                     keep_excessive_supervisions=False)
    yield "noise_everywhere", dict(SETS["second"], noise_path="second.jsonl", noise_mix_prob=1,
                                   noise_snr=[-5, 5.5], pad_min_duration=0.3)
    yield "speeds_shards", {"shar_path": "shar/first", "force_finite": True, "batch_size": 4,
                            "perturb_speed": True, "noise_path": "second.jsonl"}
    yield "speeds_noise", {"cuts_path": "first.jsonl", "batch_size": 3, "perturb_speed": True,
                           "noise_path": "second.jsonl", "noise_mix_prob": 0.7}
    for fusion in ("round_robin", "randomized_round_robin", "zip"):
        yield f"sets_{fusion}", dict(SETS, multi_config=True, sampler_fusion=fusion, shuffle=True)
    yield "sets_weighted", dict(SETS, multi_config=True, sampler_fusion="randomized_round_robin",
                                sampler_weights={"first": 1, "second": 3, "third": 0.5},
                                shuffle=False)


SETS = {"first": {"cuts_path": "first.jsonl", "batch_size": 4, "shuffle_buffer_size": 5},
        "second": {"cuts_path": "second.jsonl", "batch_duration": 0.9, "shuffle": True},
        "third": {"manifest_filepath": "parts/manifest_{0..3}.json", "batch_size": 5,
                  "bucket_duration_bins": [0.3, 0.6], "bucket_buffer_size": 8,
                  "quadratic_duration": 2, "truncate_duration": 0.6,
                  "truncate_offset_type": "end"}}


def letters(text):
    return list(text.encode())


def with_common(config):
    """What NeMo needs to be told, and is no difference."""
    common = {"sample_rate": RATE, "concurrent_bucketing": False}
    sets = {key: {**value, **common} for key, value in config.items()
            if isinstance(value, dict) and config.get("multi_config") and key != "sampler_weights"}
    return {**config, **sets, **common}


def sampler_of(config, tokenizer=None):
    """The sampler of NeMo's data loader."""
    loader = nemo.get_lhotse_dataloader_from_config(OmegaConf.create(with_common(config)), 0, 1,
                                                    dataset=None, tokenizer=tokenizer)
    return getattr(loader.dataset, "sampler", loader.sampler)


def number(value):
    return round(float(value), 8)


def turn_fields(turn):
    return {"id": turn.id, "start": number(turn.start), "duration": number(turn.duration),
            "text": turn.text, "language": turn.language, "speaker": turn.speaker}


LEFT_OUT = ("shard_origin", "shar_epoch", "manifest_origin", "tar_origin", "dataloading_info")


def custom_fields(custom):
    kept = {}
    for key, value in (custom or {}).items():
        if value is None or key in LEFT_OUT:
            continue
        if isinstance(value, Recording):
            value = {"recording": value.id, "rate": value.sampling_rate,
                     "samples": value.num_samples}
        elif OmegaConf.is_config(value):
            value = OmegaConf.to_container(value)
        kept[key] = value
    return kept


def named(text):
    return text.replace(os.getcwd(), "{root}")


def cut_fields(cut):
    if not hasattr(cut, "duration"):  # a conversation
        return {"id": cut.id, "audio": [c.id for c in cut.list_cuts()],
                "seconds": [number(c.duration) for c in cut.list_cuts()]}
    fields = {"id": named(cut.id), "duration": number(cut.duration),
              "turns": [turn_fields(turn) for turn in cut.supervisions]}
    for turn in fields["turns"]:
        turn["id"] = named(turn["id"])
    if isinstance(cut, MonoCut):
        fields["custom"] = custom_fields(cut.custom)
        fields["rate"] = cut.sampling_rate
    else:
        fields["tracks"] = [{"type": type(t.cut).__name__, "offset": number(t.offset),
                             "duration": number(t.cut.duration), "start": number(
                                 getattr(t.cut, "start", 0)),
                             "snr": None if t.snr is None else number(t.snr)}
                            for t in cut.tracks]
    transforms = getattr(getattr(cut, "recording", None), "transforms", None)
    if transforms:
        fields["transforms"] = [dict(t) if isinstance(t, dict) else t.to_dict()
                                for t in transforms]
    return fields


def stream_case(name, config, count=28):
    config = dict(config, shard_seed=config.get("shard_seed", 3))
    cuts, is_tarred = read_cutset_from_config(OmegaConf.create(config))
    found = []
    for cut in cuts:
        found.append(cut_fields(cut))
        if len(found) == count:
            break
    return {"name": name, "config": config, "is_tarred": is_tarred, "cuts": found,
            "is_all": len(found) < count}


def random_id(text):
    """Lhotse names some cuts by random numbers."""
    return "" if text[:36].count("-") == 4 and len(text[:36].split("-")[-1]) == 12 else text


def sampler_case(name, config, tokenizer=None, count=8):
    config = dict(config, shard_seed=config.get("shard_seed", 3), seed=7)
    sampler = sampler_of(config, tokenizer)
    passes = []
    for epoch in range(2):
        sampler.set_epoch(epoch)
        batches = []
        for batch in sampler:
            batches.append([dict(cut_fields(cut), id=random_id(named(cut.id))) for cut in batch])
            if len(batches) == count:
                break
        passes.append({"batches": batches, "is_all": len(batches) < count})
        if len(batches) == count:
            break
    return {"name": name, "config": config, "letters": tokenizer is not None, "passes": passes}


def main():
    root = Path(sys.argv[1])
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    os.chdir(root)
    make_data()
    cases = {"streams": [stream_case(*case) for case in streams()],
             "samplers": [sampler_case(*case) for case in samplers()] +
                         [sampler_case(*case, letters) for case in more_samplers()]}
    lines = ["{"]
    for kind, items in cases.items():
        lines.append(f'"{kind}": [')
        lines += [json.dumps(item, default=str, separators=(",", ":")) +
                  ("," if i + 1 < len(items) else "")
                  for i, item in enumerate(items)]
        lines.append("]" + ("," if kind == "streams" else ""))
    rf.write_json_gz("cases.json.gz", "\n".join(lines + ["}"]) + "\n")


if __name__ == "__main__":
    main()
