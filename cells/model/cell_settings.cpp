#include "cells/model/cell_settings.hpp"

namespace cells {
namespace {

/// Calls `visit` with a reference to the limit.
template <class Settings, class Visit>
void visit_limit(Settings& settings, QuotaLimit limit, Visit visit) {
  switch (limit) {
    case QuotaLimit::queue_jobs:
      return visit(settings.jobs_max);
    case QuotaLimit::queue_bytes:
      return visit(settings.bytes_max);
    case QuotaLimit::queue_rate:
      return visit(settings.submissions.per_s);
    case QuotaLimit::queue_burst:
      return visit(settings.submissions.burst);
    case QuotaLimit::customer_jobs:
      return visit(settings.customer.jobs_max);
    case QuotaLimit::customer_bytes:
      return visit(settings.customer.bytes_max);
    case QuotaLimit::customer_running:
      return visit(settings.customer.running_max);
    case QuotaLimit::customer_rate:
      return visit(settings.customer.submissions.per_s);
    case QuotaLimit::customer_burst:
      return visit(settings.customer.submissions.burst);
  }
}

}  // namespace

double quota_of(const CellSettings& settings, QuotaLimit limit) {
  double value = 0;
  visit_limit(settings, limit, [&](const auto& member) { value = static_cast<double>(member); });
  return value;
}

void set_quota(CellSettings& settings, QuotaLimit limit, double value) {
  visit_limit(settings, limit, [&](auto& member) {
    member = static_cast<std::remove_reference_t<decltype(member)>>(value);
  });
}

CellSettings overridden(CellSettings settings, const QuotaOverride& quota) {
  for (const auto& [limit, value] : quota) set_quota(settings, limit, value);
  return settings;
}

}  // namespace cells
