#include "s2s/plugin.h"

#include <algorithm>

#include "audio_cache.h"
#include "cuts_options.h"
#include "cuts_source.h"
#include "s2s/data/data_commands.h"

namespace {

using s2s::Component;
using s2s::Config;
using s2s::CutBatchesContext;
using s2s::DataContext;
using s2s::DataSource;

/// The keys of a block: open_cut_batches knows which of them are options.
std::vector<std::string> keys_of(const Config& node) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : node.entries()) keys.push_back(key);
  return keys;
}

std::unique_ptr<DataSource> create(const Config& node, const DataContext& context) {
  s2s::Findings findings;
  s2s::cuts::CutsOptions options;
  s2s::OptionReader(node, context.path, findings, keys_of(node)).read(options);
  s2s::DuplexDataOptions data;
  if (context.data != nullptr) {
    s2s::OptionReader(*context.data, "data", findings, s2s::DuplexDataOptions::other_keys())
        .read(data);
  }
  findings.throw_if_any();
  s2s::allow_typed_commands(node);
  if (data.allow_commands) s2s::allow_data_commands();
  s2s::set_command_timeout(data.command_timeout_s);
  s2s::cuts::SourceParts parts;
  parts.open = [node](const CutBatchesContext& where) {
    return s2s::open_cut_batches(node, where);
  };
  parts.audio = options.cache_audio ? std::make_unique<s2s::cuts::AudioCache>()
                                    : std::make_unique<s2s::AudioLoader>();
  return std::make_unique<s2s::cuts::CutsSource>(
      options, s2s::BatchSpec{data, options.sample_rate.value_or(0)}, context, std::move(parts));
}

/// What the source reads, and what open_cut_batches does.
s2s::OptionTable options() {
  s2s::OptionTable table = s2s::list_options<s2s::cuts::CutsOptions>();
  for (s2s::OptionRow& row : s2s::list_cut_batches_options()) {
    const bool is_known = std::any_of(table.begin(), table.end(), [&](const s2s::OptionRow& own) {
      return own.name == row.name;
    });
    if (!is_known) table.push_back(std::move(row));
  }
  return table;
}

Component<DataSource> component() {
  return {.name = "cuts",
          .summary = "Lhotse cuts: manifests, Shar directories, NeMo manifests, mixtures of them",
          .create = create,
          .options = options};
}

}  // namespace

S2S_PLUGIN("cuts", "0.1.0", "Apache-2.0", "data:cuts") { registrar.add(component()); }
