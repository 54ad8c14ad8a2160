#include "pair_histogram/sky/sky_rule.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "pair_histogram/sky/exact_number.hpp"

namespace gradus::pair_histogram_detail {

namespace {

/// The square of a coordinate of the histogram, as a quotient. If the denominator is zero, the coordinate is zero.
template <class Number>
struct SquareRatio {
  Number numerator = 0;
  Number denominator = 1;
};

template <class Number>
using SkyTerms = std::array<SquareRatio<Number>, 2>;

template <class Number>
Number separation(const SkyRule& rule, std::size_t column, double first, double second) {
  Number apart = Number(std::max(first, second)) - Number(std::min(first, second));
  if (!rule.is_periodic) return apart;
  Number around = Number(rule.box[column]) - apart;
  const Sign sign = (around - apart).sign();
  if constexpr (std::is_same_v<Number, Estimate>)
    if (sign == Sign::unknown) return Estimate::unknown();
  return sign == Sign::negative ? around : apart;
}

template <class Number>
SkyTerms<Number> terms_of(const SkyRule& rule, const SkyPoint& first, const SkyPoint& second) {
  if (!rule.is_midpoint) {
    const auto x = separation<Number>(rule, 0, first[0], second[0]);
    const auto y = separation<Number>(rule, 1, first[1], second[1]);
    const auto z = separation<Number>(rule, 2, first[2], second[2]);
    const Number across = x * x + y * y;
    const Number along = z * z;
    if (rule.is_across) return {{{across}, {along}}};
    return {{{across + along}, {along, across + along}}};
  }
  Number square = 0;  // the squared separation
  Number along = 0;   // the product of the separation and the sum of both points
  Number norm = 0;    // the squared norm of that sum
  bool is_opposite = true;
  for (std::size_t column = 0; column < 3; ++column) {
    const Number apart = Number(first[column]) - Number(second[column]);
    const Number sum = Number(first[column]) + Number(second[column]);
    square = square + apart * apart;
    along = along + apart * sum;
    norm = norm + sum * sum;
    is_opposite = is_opposite && first[column] == -second[column];
  }
  if (!rule.is_across) return {{{square}, {along * along, norm * square}}};
  if (is_opposite) return {{{square}, {}}};
  return {{{square * norm - along * along, norm}, {along * along, norm}}};
}

/// Returns the sign of the difference of a squared coordinate and the square of an edge.
template <class Number>
Sign compare(const SquareRatio<Number>& ratio, const Number& square) {
  const Sign denominator = ratio.denominator.sign();
  if (denominator == Sign::unknown) return Sign::unknown;
  return (denominator == Sign::zero ? Number(0) - square : ratio.numerator - ratio.denominator * square).sign();
}

}  // namespace

SkyBins::SkyBins(const PairCountsOptions& options) : edges{options.edges, options.second_edges} {
  if (options.kind != PairCountsKind::theta) return;
  edges[0].clear();
  edges[1] = {0, 2};
  for (const double degrees : options.edges) {
    squares.push_back(squared_chord_of(degrees));
    edges[0].push_back(std::sqrt(squares.back()));
  }
}

SkyRule::SkyRule(const PairCountsOptions& options)
    : bins(options), is_across(options.kind == PairCountsKind::rp_pi),
      is_midpoint(options.line_of_sight == LineOfSight::midpoint && options.kind != PairCountsKind::theta),
      is_periodic(!options.box.empty()) {
  const auto last = is_midpoint || options.kind == PairCountsKind::theta
                        ? std::int64_t{2}
                        : static_cast<std::int64_t>(options.line_of_sight);
  columns = {(last + 1) % 3, (last + 2) % 3, last};
  for (std::size_t column = 0; is_periodic && column < 3; ++column)
    box[column] = options.box[static_cast<std::size_t>(columns[column])];
}

std::int64_t SkyRule::slot(const SkyPoint& first, const SkyPoint& second) const {
  const auto quick = terms_of<Estimate>(*this, first, second);
  std::optional<SkyTerms<Dyadic>> exact;
  const auto is_below = [&](std::size_t axis, std::ptrdiff_t number) {
    const double edge = bins.edges[axis][static_cast<std::size_t>(number)];
    const auto compared = [&]<class Number>(const SkyTerms<Number>& terms) {
      if (axis == 0 && !bins.squares.empty())
        return compare(terms[axis], Number(bins.squares[static_cast<std::size_t>(number)]));
      return compare(terms[axis], Number(edge) * Number(edge));
    };
    if (edge == 0) return false;
    const Sign sign = compared(quick);
    if (sign != Sign::unknown) return sign == Sign::negative;
    if (!exact) exact = terms_of<Dyadic>(*this, first, second);
    return compared(*exact) == Sign::negative;
  };
  const auto place = [&](std::size_t axis) {
    const std::vector<double>& edges = bins.edges[axis];
    const double value = std::sqrt(std::max(0.0, quick[axis].numerator.value() / quick[axis].denominator.value()));
    auto next = std::upper_bound(edges.begin(), edges.end(), value) - edges.begin();  // a first guess
    while (next > 0 && is_below(axis, next - 1)) --next;
    while (next < std::ssize(edges) && !is_below(axis, next)) ++next;
    return static_cast<std::int64_t>(next);
  };
  return place(0) * bins.places(1) + place(1);
}

}  // namespace gradus::pair_histogram_detail
