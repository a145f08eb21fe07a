// Line charts as SVG, readable on light and dark pages.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace celld::bench {

struct Line {
  std::string name;
  std::vector<std::pair<double, double>> points;  ///< (x, y), x ascending and positive.
};

struct Panel {
  std::string title;        ///< Says what y is, with its unit.
  double y_max = 0;         ///< The axis reaches from 0 to the greater of this and the greatest y.
  std::vector<Line> lines;  ///< At most six.
};

/// One panel above the other, over a common logarithmic x axis. The panels have lines of the same
/// names, in the same order.
std::string chart(const std::string& x_title, const std::vector<Panel>& panels);

}  // namespace celld::bench
