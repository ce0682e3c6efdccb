#include "rvq_vae_options.h"

#include "rvq_vae_errors.h"

namespace s2s::rvq_vae {

void check(const RvqVaeOptions& options, const std::string& path) {
  Findings findings;
  const size_t stages = options.channel_mult.size();
  if (stages == 0 || options.rates.size() != stages) {
    findings.add(bad_stages(path, stages, options.rates.size()));
  }
  int64_t samples = options.hop_length;
  for (const int64_t rate : options.rates) samples *= rate;
  if (samples != options.wav_to_token_ratio) {
    findings.add(bad_frame_samples(path, options.wav_to_token_ratio, samples));
  }
  const int64_t overlap = options.n_fft - options.hop_length;
  if (options.n_fft % 2 != 0 || overlap < 2 || overlap % 2 != 0) {
    findings.add(bad_window(path, options.n_fft, options.hop_length));
  }
  for (const int64_t factor : options.channel_mult) {
    if (options.base_hidden_size * factor % options.groups == 0) continue;
    findings.add(bad_groups(path, options.groups, options.base_hidden_size * factor));
    break;
  }
  if (options.latent_size % options.groups != 0) {
    findings.add(bad_groups(path, options.groups, options.latent_size));
  }
  findings.throw_if_any();
}

}  // namespace s2s::rvq_vae
