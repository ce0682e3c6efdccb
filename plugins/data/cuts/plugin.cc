#include "s2s/plugin.h"

#include "audio_cache.h"
#include "cuts_options.h"
#include "cuts_source.h"
#include "manifest_batches.h"

namespace {

using s2s::BuildContext;
using s2s::Component;
using s2s::Config;
using s2s::CutBatchesContext;
using s2s::DataSource;

/// What other options read.
std::vector<std::string> names_of(const s2s::OptionTable& table) {
  std::vector<std::string> names = {"name"};
  for (const s2s::OptionRow& row : table) names.push_back(row.name.substr(0, row.name.find('.')));
  return names;
}

std::unique_ptr<DataSource> create(const Config& node, const BuildContext& context) {
  s2s::Findings findings;
  s2s::cuts::CutsOptions options;
  s2s::cuts::ManifestOptions manifests;
  s2s::OptionReader(node, context.path, findings,
                    names_of(s2s::list_options<s2s::cuts::ManifestOptions>()))
      .read(options);
  s2s::DuplexDataOptions data;
  if (context.data != nullptr) {
    s2s::OptionReader(*context.data, "data", findings, s2s::DuplexDataOptions::other_keys())
        .read(data);
  }
  findings.throw_if_any();
  s2s::OptionReader(node, context.path, findings,
                    names_of(s2s::list_options<s2s::cuts::CutsOptions>()))
      .read(manifests);
  findings.throw_if_any();
  const s2s::BatchSpec spec{data, options.sample_rate.value_or(0)};
  s2s::cuts::SourceParts parts;
  parts.open = [manifests, data](const CutBatchesContext& where) {
    return std::make_unique<s2s::cuts::ManifestBatches>(manifests, data, where);
  };
  parts.audio = options.cache_audio ? std::make_unique<s2s::cuts::AudioCache>()
                                    : std::make_unique<s2s::AudioLoader>();
  return std::make_unique<s2s::cuts::CutsSource>(options, spec, context, std::move(parts));
}

s2s::OptionTable options() {
  s2s::OptionTable table = s2s::list_options<s2s::cuts::CutsOptions>();
  const s2s::OptionTable more = s2s::list_options<s2s::cuts::ManifestOptions>();
  table.insert(table.end(), more.begin(), more.end());
  return table;
}

Component<DataSource> cuts_component() {
  Component<DataSource> component;
  component.name = "cuts";
  component.summary = "Lhotse cuts from JSONL manifests, audio from files";
  component.create = &create;
  component.options = &options;
  return component;
}

}  // namespace

S2S_PLUGIN("cuts", "0.1.0", "Apache-2.0", "data:cuts") { registrar.add(cuts_component()); }
