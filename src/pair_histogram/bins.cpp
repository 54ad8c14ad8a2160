#include "pair_histogram/bins.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "core/stop.hpp"
#include "core/text.hpp"
#include "pair_histogram/options.hpp"

namespace gradus::pair_histogram_detail {

namespace {

/// Returns the smallest non-negative double for which `holds` is true, or infinity if there is none. `holds` must be
/// monotonic. The function bisects over bit patterns, which order non-negative doubles. It takes a few steps if `guess`
/// is close to the result, otherwise up to 64 steps.
template <class Holds>
double least_double(double guess, const Holds& holds) {
  std::uint64_t below = std::bit_cast<std::uint64_t>(guess * (1 - 0x1p-49));  // holds(below) is assumed to be false
  std::uint64_t above = std::bit_cast<std::uint64_t>(guess * (1 + 0x1p-49));  // holds(above) is assumed to be true
  if (holds(0.0)) return 0;
  if (!(guess < std::numeric_limits<double>::max()) || holds(std::bit_cast<double>(below)) ||
      !holds(std::bit_cast<double>(above))) {
    below = 0;
    above = std::bit_cast<std::uint64_t>(std::numeric_limits<double>::infinity());
  }
  while (above - below > 1) {
    const std::uint64_t middle = below + (above - below) / 2;
    (holds(std::bit_cast<double>(middle)) ? above : below) = middle;
  }
  return std::bit_cast<double>(above);
}

std::string count_text(std::int64_t bins) {
  return std::to_string(bins) + " bins are more than the supported " + std::to_string(bin_limit);
}

std::int64_t bin_count(const PairHistogramBins& bins) {
  return bins.edges.empty() ? bins.bins : static_cast<std::int64_t>(bins.edges.size()) - 1;
}

void check_value(std::string_view name, const core::Value& value) {
  core::check_value(core::option_row<PairHistogramOptions>(name), value, name);
}

void check_uniform(const PairHistogramBins& bins) {
  check_value("bin_width", bins.bin_width);
  check_value("bins", bins.bins);
  if (std::isinf(bins.bin_width * static_cast<double>(bins.bins)))
    throw UsageError("the bins reach beyond the largest double");
}

void check_edges(const PairHistogramBins& bins) {
  if (bins.bin_width != 0 || bins.bins != 0)
    throw UsageError("bins are either of one width or between edges; both were given");
  const std::vector<double>& edges = bins.edges;
  if (edges.size() < 2)
    throw UsageError(about("edges") + "at least two are needed, not " + std::to_string(edges.size()));
  for (std::size_t edge = 0; edge < edges.size(); ++edge) {
    const ErrorMessage which = about("edges") + "edge " + std::to_string(edge) + " (counted from 0) is ";
    if (!std::isfinite(edges[edge])) throw UsageError(which + (std::isnan(edges[edge]) ? "NaN" : "infinite"));
    if (edges[edge] < 0) throw UsageError(which + core::number_text(edges[edge]) + "; a distance is never negative");
    if (edge > 0 && !(edges[edge - 1] < edges[edge]))
      throw UsageError(which + core::number_text(edges[edge]) + " and not above the edge before it, " +
                       core::number_text(edges[edge - 1]) + "; edges increase");
  }
}

}  // namespace

std::uint64_t Bins::bytes(const PairHistogramBins& bins) {
  if (bin_count(bins) > bin_limit) throw UsageError(count_text(bin_count(bins)));
  return 2 * sizeof(double) * static_cast<std::uint64_t>(std::max<std::int64_t>(0, bin_count(bins)) + 2);
}

Bins::Bins(const PairHistogramBins& bins, const std::stop_token& stop) {
  core::RarePoll look(stop, "stopped while preparing the bins");
  if (bins.edges.empty()) check_uniform(bins);
  else check_edges(bins);
  if (bins.cutoff != 0) check_value("cutoff", bins.cutoff);
  const std::uint64_t room = bytes(bins) / (2 * sizeof(double));

  edges_.reserve(static_cast<std::size_t>(room));
  width_ = bins.bin_width;
  for (std::int64_t edge = 0; edge <= bin_count(bins); ++edge) {
    look.honour_stop();
    const auto index = static_cast<double>(edge);
    // `end_` is the nominal edge, `begin` the smallest double in the bin. For uniform bins the two may differ in the
    // last bit.
    end_ = bins.edges.empty() ? index * width_ : bins.edges[static_cast<std::size_t>(edge)] + 0.0;  // no negative zero
    double begin = end_;
    if (bins.edges.empty()) begin = least_double(begin, [&](double distance) { return distance / width_ >= index; });
    const bool cut = bins.cutoff > 0 && (!(end_ < bins.cutoff) || !(begin < bins.cutoff));
    if (cut) {
      end_ = bins.cutoff;
      begin = std::min(begin, bins.cutoff);
    }
    edges_.push_back(begin);
    if (cut) break;
  }
  if (edges_.size() < 2)
    throw UsageError("the cutoff, " + core::number_text(bins.cutoff) + ", leaves no bin: the first begins at " +
                     core::number_text(bins.edges.front()));

  thresholds_.reserve(edges_.size());
  for (const double edge : edges_) {
    look.honour_stop();
    thresholds_.push_back(least_double(edge * edge, [edge](double squared) { return std::sqrt(squared) >= edge; }));
  }
}

std::vector<double> Bins::nominal_edges() const {
  std::vector<double> nominal(edges_.begin(), edges_.end());
  for (std::size_t edge = 0; width_ > 0 && edge < nominal.size(); ++edge)
    nominal[edge] = static_cast<double>(edge) * width_;
  nominal.back() = end_;
  return nominal;
}

std::int64_t Bins::slot(double squared) const {
  return std::upper_bound(thresholds_.begin(), thresholds_.end(), squared) - thresholds_.begin();
}

}  // namespace gradus::pair_histogram_detail
