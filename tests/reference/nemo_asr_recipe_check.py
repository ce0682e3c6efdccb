"""The first training loss of NeMo's class of a recipe, and the archive to begin ours with.

    python tests/reference/nemo_asr_recipe_check.py RECIPE MANIFEST TOKENIZER_DIR OUT.nemo

RECIPE: fastconformer_ctc_bpe or fastconformer_transducer_bpe, small and without random numbers.
Ours: s2s-run train with the same overrides, init_from_nemo_model=OUT.nemo and
trainer.log_every_n_steps=1.
"""

import sys
from pathlib import Path

import nemo.collections.asr as nemo_asr
import torch
from omegaconf import OmegaConf

CONFIGS = Path(__file__).parents[1] / "cli/train/nemo_configs"
SMALL = """preprocessor.features=16 preprocessor.dither=0.0 spec_augment.freq_masks=0
spec_augment.time_masks=0 encoder.n_layers=1 encoder.d_model=16 encoder.n_heads=2
encoder.subsampling_conv_channels=4 encoder.dropout=0 encoder.dropout_pre_encoder=0
encoder.dropout_att=0 train_ds.batch_size=2 train_ds.max_duration=30 train_ds.num_workers=0
train_ds.pin_memory=false train_ds.shuffle=false train_ds.use_start_end_token=false
validation_ds.num_workers=0""".split()
TRANSDUCER = """model_defaults.pred_hidden=8 model_defaults.joint_hidden=8
decoder.prednet.dropout=0 joint.jointnet.dropout=0 joint.fuse_loss_wer=false""".split()


def main() -> None:
    recipe, manifest, tokenizer, out = sys.argv[1:]
    has_joint = "transducer" in recipe
    changes = SMALL + (TRANSDUCER if has_joint else []) + [
        f"train_ds.manifest_filepath={manifest}", f"validation_ds.manifest_filepath={manifest}",
        f"tokenizer.dir={tokenizer}"]
    config = OmegaConf.merge(OmegaConf.load(CONFIGS / f"{recipe}.yaml"), OmegaConf.from_dotlist(
        [f"model.{change}" for change in changes]))
    config.trainer = OmegaConf.create({})
    OmegaConf.resolve(config)
    kind = nemo_asr.models.EncDecRNNTBPEModel if has_joint else nemo_asr.models.EncDecCTCModelBPE
    torch.manual_seed(1)
    model = kind(cfg=config.model, trainer=None).train()
    model.save_to(out)
    audio, samples, texts, counts = next(iter(model._train_dl))[:4]
    found, frames = model.forward(input_signal=audio, input_signal_length=samples)[:2]
    if has_joint:
        read = model.decoder(targets=texts, target_length=counts)[0]
        found = model.joint(encoder_outputs=found, decoder_outputs=read)
    print("loss", float(model.loss(log_probs=found, targets=texts, input_lengths=frames,
                                   target_lengths=counts)))


if __name__ == "__main__":
    main()
