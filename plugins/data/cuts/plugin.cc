#include "s2s/plugin.h"

#include "cuts_options.h"
#include "cuts_source.h"

namespace {

using s2s::BuildContext;
using s2s::Component;
using s2s::Config;
using s2s::DataSource;

std::unique_ptr<DataSource> create(const Config& node, const BuildContext& context) {
  s2s::Findings findings;
  s2s::cuts::CutsOptions options;
  s2s::OptionReader(node, context.path, findings, {"name"}).read(options);
  s2s::DuplexDataOptions data;
  if (context.data != nullptr) {
    s2s::OptionReader(*context.data, "data", findings, s2s::DuplexDataOptions::other_keys())
        .read(data);
  }
  findings.throw_if_any();
  return std::make_unique<s2s::cuts::CutsSource>(options, data, context);
}

Component<DataSource> cuts_component() {
  Component<DataSource> component;
  component.name = "cuts";
  component.summary = "Lhotse cuts from JSONL manifests, audio from files";
  component.create = &create;
  component.options = [] { return s2s::list_options<s2s::cuts::CutsOptions>(); };
  return component;
}

}  // namespace

S2S_PLUGIN("cuts", "0.1.0", "Apache-2.0", "data:cuts") { registrar.add(cuts_component()); }
