// Compares every variant that runs on this machine with the reference, on random pair-distance histograms.
#include <algorithm>
#include <cmath>

#include "pair_histogram/problem.hpp"
#include "pair_histogram/tests/attack_cases.hpp"
#include "pair_histogram/tests/attack_reference.hpp"
#include "pair_histogram/tests/job.hpp"
#include "tests/attack/attack.hpp"
#include "tests/attack/flat.hpp"

namespace gradus::attack {

namespace {

template <class T>
class Check {
 public:
  explicit Check(const PairCase<T>& made)
      : points_(made.points, made.columns, made.room), others_(made.others, made.columns, made.room),
        options_(made.options) {
    const auto view = [](const std::vector<T>& values) {
      return VectorView<const T>(values.data(), static_cast<std::int64_t>(values.size()));
    };
    if (made.cross) options_.others = others_.view();
    options_.weights = view(made.weights);
    options_.other_weights = view(made.other_weights);
    expected_ = outcome_of([&] { return pair_reference(points_.view(), options_); });
  }

  pair_histogram_detail::Shape shape() const {  // sets only the members that decide whether a variant runs
    pair_histogram_detail::Shape shape;
    shape.points = points_.view().rows();
    shape.others = options_.others.rows();
    shape.dimensions = points_.view().columns();
    shape.bins = static_cast<std::int64_t>(expected_.answer->counts.size());
    shape.element_bytes = sizeof(T);
    shape.cross = options_.others.columns() > 0;
    shape.periodic = !options_.box.empty();
    shape.triclinic = options_.box.size() == 9;
    shape.weighted = !options_.weights.empty();
    return shape;
  }

  /// Computes the histogram. Returns its difference from the expected histogram, or "" if they are equal.
  std::string fault(const Run& run) const {
    const auto outcome = outcome_of([&] { return pair_histogram(points_.view(), options_, run.execution); });
    if (std::string wrong = status_difference(outcome, expected_); !wrong.empty()) return wrong;
    const PairHistogramResult& is = *outcome.answer;
    const PairHistogramResult& right = *expected_.answer;
    return first_difference([&] { return difference("count of bin", is.counts, right.counts); },
                            [&] { return difference_of_one("below", is.below, right.below); },
                            [&] { return difference_of_one("beyond", is.beyond, right.beyond); },
                            [&] { return difference_of_one("pairs", is.pairs, right.pairs); },
                            [&] { return difference("edge", is.edges, right.edges); },
                            [&] { return difference("weight of bin", is.weighted, right.weighted); });
  }

 private:
  Flat<T> points_;
  Flat<T> others_;
  PairHistogramJob<T> options_;
  Outcome<PairHistogramResult> expected_;
};

template <class T>
std::string headline(const PairCase<T>& made) {
  return fmt::format("{}, {}{} x {}: {}", sizeof(T) == 4 ? "f32" : "f64", made.points.size(),
                     made.cross ? fmt::format(" and {}", made.others.size()) : "", made.columns, made.kind);
}

template <class T>
std::string full_text(const PairCase<T>& made) {
  const PairHistogramBins& bins = made.options.bins;
  std::string text = fmt::format("  {}, {} x {}, bin_width = {}, bins = {}, cutoff = {}, room between rows {}\n",
                                 sizeof(T) == 4 ? "f32" : "f64", made.points.size(), made.columns, bins.bin_width,
                                 bins.bins, bins.cutoff, made.room);
  if (!bins.edges.empty()) text += listing("edges", bins.edges);
  if (!made.options.box.empty()) text += listing("box", made.options.box);
  if (!made.options.box_origin.empty()) text += listing("box origin", made.options.box_origin);
  text += listing("points", made.points);
  if (made.cross) text += listing("others", made.others);
  if (!made.weights.empty()) text += listing("weights", made.weights);
  if (!made.other_weights.empty()) text += listing("other weights", made.other_weights);
  return text;
}

/// Applies the n-th simplification (see shrunk()).
template <class T>
bool make_simpler(PairCase<T>& made, std::int64_t step) {
  // Returns true if `step` is among the next `count` simplifications. Otherwise subtracts `count` from `step`.
  const auto take = [&step](auto count) {
    const auto all = static_cast<std::int64_t>(count);
    if (step < all) return true;
    step -= all;
    return false;
  };
  const auto remove_piece = [&](Rows<T>& rows, std::vector<T>& weights) {
    for (std::size_t length = (rows.size() + 1) / 2; length > 0 && !rows.empty(); length /= 2) {
      if (!take(rows.size() / length)) continue;
      const std::size_t begin = static_cast<std::size_t>(step) * length;
      remove_at(begin, begin + length, rows, weights);
      return true;
    }
    return false;
  };
  if (remove_piece(made.points, made.weights) || remove_piece(made.others, made.other_weights)) return true;
  PairHistogramBins& bins = made.options.bins;
  if (bins.edges.size() > 2 && take(bins.edges.size())) {
    remove_at(static_cast<std::size_t>(step), static_cast<std::size_t>(step) + 1, bins.edges);
    return true;
  }
  const auto change = [&](auto& value, auto to) {
    if (value == to || !take(1)) return false;
    value = to;
    return true;
  };
  if ((bins.bins > 1 && (change(bins.bins, std::int64_t{1}) || change(bins.bins, bins.bins - 1))) ||
      change(bins.cutoff, 0.0) || change(made.room, std::int64_t{0}))
    return true;
  if (!made.options.box.empty() && take(1)) {
    made.options.box.clear();
    made.options.box_origin.clear();
    return true;
  }
  if (!made.weights.empty() && take(1)) {
    made.weights.clear();
    made.other_weights.clear();
    return true;
  }
  if (made.columns > 1 && made.options.box.size() != 9 && take(made.columns)) {
    const auto column = static_cast<std::size_t>(step);
    --made.columns;
    for (Rows<T>* rows : {&made.points, &made.others})
      for (std::vector<T>& row : *rows) remove_at(column, column + 1, row);
    if (!made.options.box.empty()) remove_at(column, column + 1, made.options.box, made.options.box_origin);
    return true;
  }
  const auto simplify = [&](std::vector<T>& values) {
    for (T& value : values)
      for (const T to : {T{0}, T{1}, static_cast<T>(static_cast<float>(value)), std::round(value)}) {
        if (value == 0 || (value == 1 && to != 0) || to == value || !std::isfinite(to) || !take(1)) continue;
        value = to;
        return true;
      }
    return false;
  };
  for (Rows<T>* rows : {&made.points, &made.others})
    for (std::vector<T>& row : *rows)
      if (simplify(row)) return true;
  return simplify(made.weights) || simplify(made.other_weights);
}

template <class T>
void attack_case(const AttackOptions& options, std::uint64_t number, AttackReport& report) {
  const PairCase<T> made = make_pair_case<T>(options.seed, number);
  if (options.verbose) fmt::print("pair-histogram case {}: {}\n", number, headline(made));
  const Check<T> check(made);
  CaseReport of_case("pair_histogram", options, number, report);
  for (const Run& run : runs_of(pair_histogram_detail::variants(), check.shape(), options, number)) {
    const std::string wrong = check.fault(run);
    if (!of_case.judge("pair-histogram by " + run.text, wrong, headline(made)) || !options.shrink) continue;
    // A simpler case may be rejected, for example for points outside the box. That is a different fault.
    const bool refused = wrong.starts_with("there is error");
    const std::function<bool(PairCase<T>&, std::int64_t)> smaller = make_simpler<T>;
    const auto small = shrunk<PairCase<T>>(made, smaller, [&](const PairCase<T>& candidate) {
      const std::string still = Check<T>(candidate).fault(run);
      return !still.empty() && still.starts_with("there is error") == refused;
    });
    fmt::print("  smaller: {}\n{}", Check<T>(small).fault(run), full_text(small));
  }
  of_case.finish();
}

}  // namespace

AttackReport attack_pair_histogram(const AttackOptions& options);
AttackReport attack_pair_histogram(const AttackOptions& options) {
  AttackReport report;
  for (std::uint64_t number = options.first; number < options.first + options.cases; ++number) {
    if (number % 3 == 0) attack_case<float>(options, number, report);
    else attack_case<double>(options, number, report);
  }
  return report;
}

}  // namespace gradus::attack
