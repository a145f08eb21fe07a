// Prints, as JSON, what the program knows about its own configuration: the kinds of providers and
// the settings of a cell. scripts/generate writes the output into the documents that describe them.
#include <cstdio>
#include <variant>

#include "src/config/cell_setting.hpp"
#include "src/providers/kinds.hpp"

using namespace celld;

int main() {
  json::Value kinds = json::Value::array();
  for (const auto* kind : providers::service_kinds()) {
    // As text: parsing it here would sort its members.
    kinds.push_back({{"type", kind->type()}, {"schema", kind->schema()}});
  }
  json::Value settings = json::Value::array();
  for (const auto& setting : config::cell_settings()) {
    settings.push_back({{"name", setting.name},
                        {"description", setting.description},
                        {"at_most", setting.at_most},
                        {"schema", setting.schema},
                        {"follows", setting.follows},
                        {"default", setting.show(cells::CellSettings{})}});
  }
  std::puts(json::dump({{"kinds", kinds}, {"cell_settings", settings}}).c_str());
}
