// SPDX-License-Identifier: BSD-2-Clause
#include "tools/perf/plot.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "tools/common/failure.hpp"

namespace perf {

namespace {

using tools::format;

constexpr double kPanelWidth = 640, kPanelHeight = 320, kLeft = 70, kRight = 200, kTop = 40,
                 kBottom = 45;
constexpr const char* kColours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                    "#e69f00", "#56b4e9", "#000000", "#999999"};

struct Point {
    double size, value;
};
using Lines = std::map<std::string, std::vector<Point>>;

const char* unit_of(Test test) {
    if (test == Test::latency) return "latency, median, us";
    return test == Test::bandwidth ? "bandwidth, MB/s" : "rate, messages/s";
}

double value_of(const Result& result) {
    const Test test = result.measurement.test;
    if (test == Test::bandwidth) return result.bytes_per_second / 1e6;
    if (test == Test::rate) return result.messages_per_second;
    return static_cast<double>(result.ticks.percentile(50)) * result.us_per_tick;
}

std::string label_of(const Measurement& measurement) {
    std::string label(name_of(measurement.operation));
    if (measurement.blocking) label += ", blocking";
    if (measurement.two_ways) label += ", two ways";
    return label;
}

/// A logarithmic axis that spans whole decades (or powers of two).
class Axis {
  public:
    Axis(double base, double from, double to) : base_(base) {
        first_ = std::floor(std::log(from) / std::log(base) + 1e-9);
        last_ = std::max(std::ceil(std::log(to) / std::log(base) - 1e-9), first_ + 1);
    }
    /// @return position on the axis, 0 to 1
    double place(double value) const {
        return (std::log(value) / std::log(base_) - first_) / (last_ - first_);
    }
    /// @return the values to be marked, at most eleven.
    std::vector<double> marks() const {
        std::vector<double> all;
        const double step = std::max(std::ceil((last_ - first_) / 10), 1.0);
        const int steps = static_cast<int>((last_ - first_) / step);
        for (int i = 0; i <= steps; ++i) all.push_back(std::pow(base_, first_ + i * step));
        return all;
    }

  private:
    double base_, first_, last_;
};

Axis axis_of(const Lines& lines, double Point::*member, double base) {
    double least = 0, most = 0;
    for (const auto& [label, points] : lines)
        for (const Point& point : points) {
            least = least == 0 ? point.*member : std::min(least, point.*member);
            most = std::max(most, point.*member);
        }
    return {base, least, most};
}

std::string text_at(double x, double y, const char* anchor, const std::string& text) {
    return format("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor,
                  text.c_str());
}

std::string line_at(double x1, double y1, double x2, double y2) {
    return format("<path d=\"M%.1f %.1fL%.1f %.1f\" stroke=\"#ccc\"/>\n", x1, y1, x2, y2);
}

std::string panel(Test test, const Lines& lines, double top) {
    const Axis sizes = axis_of(lines, &Point::size, 2);
    const Axis values = axis_of(lines, &Point::value, 10);
    const double width = kPanelWidth - kLeft - kRight, height = kPanelHeight - kTop - kBottom;
    const auto x = [&](double size) { return kLeft + sizes.place(size) * width; };
    const auto y = [&](double value) { return top + kTop + (1 - values.place(value)) * height; };
    std::string svg = text_at(kLeft, top + kTop - 12, "start", unit_of(test));
    for (const double mark : sizes.marks()) {
        svg += line_at(x(mark), top + kTop, x(mark), top + kTop + height);
        svg += text_at(x(mark), top + kTop + height + 16, "middle",
                       size_name(static_cast<std::uint64_t>(mark)));
    }
    for (const double mark : values.marks()) {
        svg += line_at(kLeft, y(mark), kLeft + width, y(mark));
        svg += text_at(kLeft - 6, y(mark) + 4, "end", format("%g", mark));
    }
    unsigned number = 0;
    for (const auto& [label, points] : lines) {
        const char* colour = kColours[number % std::size(kColours)];
        std::string path;
        for (const Point& point : points) {
            path += format("%c%.1f %.1f", path.empty() ? 'M' : 'L', x(point.size), y(point.value));
            svg += format("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", x(point.size),
                          y(point.value), colour);
        }
        svg += format("<path class=\"line\" d=\"%s\" fill=\"none\" stroke=\"%s\"/>\n", path.c_str(),
                      colour);
        const double at = top + kTop + 6 + 18 * number++;
        svg += format("<path d=\"M%.1f %.1fh18\" stroke=\"%s\" stroke-width=\"3\"/>\n",
                      kLeft + width + 14, at, colour);
        svg += text_at(kLeft + width + 38, at + 4, "start", label);
    }
    return svg;
}

}  // namespace

std::string plot_of(const std::vector<Result>& results, const std::string& title) {
    std::map<Test, Lines> panels;
    for (const Result& result : results) {
        const double value = value_of(result);
        if (value > 0)
            panels[result.measurement.test][label_of(result.measurement)].push_back(
                {static_cast<double>(result.measurement.size), value});
    }
    const double height = kTop + kPanelHeight * static_cast<double>(panels.size());
    std::string svg = format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
        "font-family=\"sans-serif\" font-size=\"11\">\n"
        "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
        kPanelWidth, height);
    svg += text_at(kPanelWidth / 2, 24, "middle", title);
    double top = kTop;
    for (auto& [test, lines] : panels) {
        for (auto& [label, points] : lines) std::ranges::sort(points, {}, &Point::size);
        svg += panel(test, lines, top);
        top += kPanelHeight;
    }
    return svg + "</svg>\n";
}

void write_plot(const std::string& path, const std::string& document) {
    std::ofstream file(path);
    if (file << document && file.flush()) return;
    throw tools::Failure("write " + path, std::strerror(errno), "a file for the plot",
                         "name another one with --plot");
}

}  // namespace perf
