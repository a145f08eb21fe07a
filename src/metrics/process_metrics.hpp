// What the kernel says of this process.
#pragma once

#include <vector>

#include <prometheus/metric_family.h>

namespace celld::metrics {

/// Descriptors, memory, processor time and threads. What cannot be read is left out.
std::vector<prometheus::MetricFamily> process_families();

}  // namespace celld::metrics
