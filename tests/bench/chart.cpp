#include "tests/bench/chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

namespace celld::bench {
namespace {

constexpr double width = 640;
constexpr double left = 56;
constexpr double right = 24;
constexpr double top = 36;
constexpr double panel_height = 220;
constexpr double panel_gap = 56;
constexpr double legend_height = 44;
constexpr int grid_lines = 5;

// Okabe and Ito's colours, which readers with colour vision deficiencies can tell apart.
constexpr std::array colours{"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"};

std::string text_of(double value) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return text.data();
}

std::string at(double value) {
  std::array<char, 32> text;
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

std::string label(double x, double y, const std::string& anchor, const std::string& text) {
  return "<text x=\"" + at(x) + "\" y=\"" + at(y) + "\" text-anchor=\"" + anchor + "\">" + text +
         "</text>\n";
}

std::string rule(double x1, double y1, double x2, double y2, const std::string& kind) {
  return "<line class=\"" + kind + "\" x1=\"" + at(x1) + "\" y1=\"" + at(y1) + "\" x2=\"" + at(x2) +
         "\" y2=\"" + at(y2) + "\"/>\n";
}

struct Range {
  double low = std::numeric_limits<double>::max();
  double high = 0;
};

Range x_range(const std::vector<Panel>& panels) {
  Range range;
  for (const auto& panel : panels) {
    for (const auto& line : panel.lines) {
      for (const auto& [x, y] : line.points) {
        range = {std::min(range.low, x), std::max(range.high, x)};
      }
    }
  }
  return range;
}

double y_max(const Panel& panel) {
  double most = panel.y_max;
  for (const auto& line : panel.lines) {
    for (const auto& [x, y] : line.points) most = std::max(most, y);
  }
  return most > 0 ? most : 1;
}

class PanelDrawing {
 public:
  PanelDrawing(const Panel& panel, Range xs, double y)
      : panel_(panel), xs_(xs), top_(y), y_max_(y_max(panel)) {}

  std::string draw() const {
    std::string svg = label(left, top_ - 10, "start", panel_.title);
    for (int i = 0; i <= grid_lines; ++i) {
      const double value = y_max_ * i / grid_lines;
      svg += rule(left, y_at(value), width - right, y_at(value), i == 0 ? "axis" : "grid");
      svg += label(left - 6, y_at(value) + 4, "end", text_of(value));
    }
    for (const auto& [x, y] : panel_.lines.front().points) {
      svg += label(x_at(x), top_ + panel_height + 16, "middle", text_of(x));
    }
    for (std::size_t i = 0; i < panel_.lines.size(); ++i) svg += draw_line(panel_.lines[i], i);
    return svg;
  }

 private:
  double x_at(double x) const {
    const double part = std::log(x / xs_.low) / std::log(xs_.high / xs_.low);
    return left + part * (width - left - right);
  }
  double y_at(double y) const { return top_ + panel_height * (1 - y / y_max_); }

  std::string draw_line(const Line& line, std::size_t index) const {
    const std::string colour = colours[index];
    std::string points;
    std::string dots;
    for (const auto& [x, y] : line.points) {
      points += at(x_at(x)) + "," + at(y_at(y)) + " ";
      dots += "<circle cx=\"" + at(x_at(x)) + "\" cy=\"" + at(y_at(y)) + "\" r=\"3\" fill=\"" +
              colour + "\"/>\n";
    }
    return "<polyline fill=\"none\" stroke-width=\"2\" stroke=\"" + colour + "\" points=\"" +
           points + "\"/>\n" + dots;
  }

  const Panel& panel_;
  Range xs_;
  double top_;
  double y_max_;
};

std::string legend(const std::vector<Line>& lines, double y) {
  const double step = (width - left - right) / static_cast<double>(lines.size());
  std::string svg;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const double x = left + static_cast<double>(i) * step;
    svg += "<circle cx=\"" + at(x) + "\" cy=\"" + at(y - 4) + "\" r=\"4\" fill=\"" + colours[i] +
           "\"/>\n" + label(x + 10, y, "start", lines[i].name);
  }
  return svg;
}

}  // namespace

std::string chart(const std::string& x_title, const std::vector<Panel>& panels) {
  const Range xs = x_range(panels);
  std::string drawing;
  double y = top;
  for (const auto& panel : panels) {
    drawing += PanelDrawing{panel, xs, y}.draw();
    y += panel_height + panel_gap;
  }
  drawing += label((left + width - right) / 2, y - 16, "middle", x_title);
  drawing += legend(panels.front().lines, y + 12);
  const std::string size = at(width) + " " + at(y + legend_height);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + size +
         "\" font-family=\"sans-serif\" font-size=\"12\">\n"
         "<style>text{fill:#222}.axis{stroke:#222}.grid{stroke:#8884}"
         "@media(prefers-color-scheme:dark){text{fill:#ddd}.axis{stroke:#ddd}}</style>\n" +
         drawing + "</svg>\n";
}

}  // namespace celld::bench
