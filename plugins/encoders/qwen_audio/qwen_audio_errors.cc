#include "qwen_audio_errors.h"

namespace s2s::qwen_audio {

Error window_error(int64_t num_frames, int64_t window_frames) {
  return data_error("encoder/window", "qwen2_audio was given " + std::to_string(num_frames) +
                                          " mel frames\n  expected: windows of " +
                                          std::to_string(window_frames) +
                                          " frames; pad the audio with zeros to whole windows");
}

Error layer_widths_error(const std::string& path, int64_t width, int64_t output_dim) {
  return config_error("encoder/layers",
                      path + ": outputs of layers have the width " + std::to_string(width) +
                          ", and its own output has " + std::to_string(output_dim) +
                          "\n  expected: no target_layer_ids in model.modality_adapter for "
                          "qwen3_omni_audio; choose another type");
}

}  // namespace s2s::qwen_audio
