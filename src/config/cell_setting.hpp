// The settings of a cell, as one table: how each is read, checked, shown and described.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cells/model/cell_settings.hpp"
#include "src/json/json.hpp"

namespace celld::config {

/// One row of the table.
struct CellSetting {
  /// "timeout_ms", or "pool.size" for the member `size` of the object `pool`. Rows of one object
  /// are neighbours.
  std::string_view name;
  /// For the JSON Schema and the documentation. A phrase in Markdown, without a full stop.
  std::string_view description;
  /// The JSON Schema of its values.
  json::Value schema;
  /// Reads the member `name` of `reader` if it is there. False after a fault; then the setting
  /// keeps its value.
  std::function<bool(json::ObjectReader& reader, std::string_view name, cells::CellSettings&)> read;
  /// Returns null for no limit, and for a setting that is not set and so `follows` another one.
  std::function<json::Value(const cells::CellSettings&)> show;
  /// The name of the setting that this one, a number, must not exceed. It belongs to the same
  /// object.
  std::string_view at_most{};
  /// The limit that this setting configures, if administrators can override it.
  std::optional<cells::QuotaLimit> quota{};
  /// The name of the setting whose value applies while this one is not set.
  std::string_view follows{};
};

/// "pool" of "pool.size", "customers.quota" of "customers.quota.max_jobs"; empty if there is none.
std::string_view object_of(std::string_view setting);
/// "size" of "pool.size".
std::string_view member_of(std::string_view setting);

/// The objects that are members of this one and hold settings: "customers.quota" of "customers".
std::vector<std::string_view> objects_in(std::string_view object);

/// A limit as the configuration writes it: 0 as null.
json::Value show_quota(cells::QuotaLimit limit, double value);

/// In the order of the documentation. The built-in defaults are those of cells::CellSettings.
const std::vector<CellSetting>& cell_settings();

/// Names that are reserved for later versions.
const std::vector<std::string_view>& reserved_cell_settings();

/// The settings as in the configuration file, with the members in the order of the table.
std::string show_cell_settings(const cells::CellSettings& settings);

}  // namespace celld::config
