// Metrics of this process, from the kernel.
#pragma once

#include <vector>

#include <prometheus/metric_family.h>

namespace celld::metrics {

/// Memory, descriptors and processor time. Leaves out what cannot be read.
std::vector<prometheus::MetricFamily> process_families();

}  // namespace celld::metrics
