#include <utility>

#include "files/command_rules.h"
#include "loader/audio_cache.h"
#include "loader/cuts_source.h"
#include "s2s/data/cut_source.h"

namespace s2s {

std::unique_ptr<DataSource> open_cut_source(const Config& block, const DataContext& context) {
  data::DatasetBlock read = data::read_dataset_block(block, context.path);
  const data::CutsSourceOptions options = read.options.source;
  DuplexDataOptions duplex;
  if (context.data != nullptr) {
    Findings findings = read.findings;
    const size_t before = findings.errors().size();
    OptionReader(*context.data, "data", findings, DuplexDataOptions::other_keys()).read(duplex);
    if (findings.errors().size() > before) findings.throw_if_any();
  }
  allow_typed_commands(block);
  if (duplex.allow_commands) allow_data_commands();
  set_command_timeout(duplex.command_timeout_s);
  data::SourceParts parts;
  parts.audio =
      options.cache_audio ? std::make_unique<data::AudioCache>() : std::make_unique<AudioLoader>();
  parts.open = [read = std::move(read)](const data::CutBatchesContext& where) {
    return data::open_cut_batches(read, where);
  };
  BatchSpec spec{duplex, options.sample_rate.value_or(0), options.codes_field.value_or("")};
  return std::make_unique<data::CutsSource>(options, spec, context, std::move(parts));
}

OptionTable list_cut_source_options() { return list_options<data::DatasetOptions>(); }

}  // namespace s2s
