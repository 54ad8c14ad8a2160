#include "matmul/measure.hpp"

#include <algorithm>

#include "core/evenly_spread.hpp"
#include "core/stop.hpp"
#include "matmul/oracle.hpp"

namespace gradus::matmul_detail {

namespace {

// The number of multiply-adds that one core computes in a few seconds in the exact type.
template <class T>
constexpr double most_products = sizeof(T) == sizeof(float) ? 1e9 : 5e7;
constexpr double fewest_elements = 256;
constexpr double most_elements = 1 << 24;

}  // namespace

template <class T>
std::int64_t ErrorSample<T>::elements_of(const Problem<T>& problem) {
  const double all =
      static_cast<double>(problem.batches) * static_cast<double>(problem.m) * static_cast<double>(problem.n);
  const double depth = static_cast<double>(std::max<std::int64_t>(problem.k, 1));
  return static_cast<std::int64_t>(std::min({all, most_elements, std::max(most_products<T> / depth, fewest_elements)}));
}

template <class T>
std::uint64_t ErrorSample<T>::bytes(const Problem<T>& problem) {
  return problem.beta == 0 ? 0 : static_cast<std::uint64_t>(elements_of(problem)) * sizeof(T);
}

template <class T>
ErrorSample<T>::ErrorSample(const Problem<T>& problem) : elements_(elements_of(problem)) {
  if (problem.beta == 0) return;
  before_.reserve(static_cast<std::size_t>(elements_));
  for (std::int64_t index = 0; index < elements_; ++index) {
    const Place place = place_of(index, problem);
    before_.push_back(problem.c.at(place.batch)(place.row, place.column));
  }
}

template <class T>
typename ErrorSample<T>::Place ErrorSample<T>::place_of(std::int64_t index, const Problem<T>& problem) const {
  const std::int64_t all = problem.batches * problem.m * problem.n;
  const std::int64_t at = core::evenly_spread(index, elements_, all);
  return {at / (problem.m * problem.n), at / problem.n % problem.m, at % problem.n};
}

template <class T>
MatmulError ErrorSample<T>::measure(const Problem<T>& problem, int threads, const std::stop_token& stop) const {
  MatmulError error;
  double greatest = 0;
  std::int64_t compared = 0;
  // computing one exact product takes as long as this many operations in T
  constexpr std::int64_t operations_of_a_product = 32;
  const std::int64_t stretch = core::chunk_length(
      elements_, operations_of_a_product * std::min(problem.k + 1, core::operations_between_polls), threads);
  const auto compare = [&](std::int64_t index, double& greatest_there, std::int64_t& compared_there) {
    const Place place = place_of(index, problem);
    const T before = before_.empty() ? T{0} : before_[static_cast<std::size_t>(index)];
    const Element<T> right = true_element(problem, place.batch, place.row, place.column, before);
    const Exact<T> difference = static_cast<Exact<T>>(problem.c.at(place.batch)(place.row, place.column)) - right.exact;
    // NOLINTNEXTLINE(misc-redundant-expression): false for NaN and infinity
    if (!(difference - difference == 0)) return;
    ++compared_there;
    if (difference == 0) return;
    greatest_there =
        std::max(greatest_there, static_cast<double>((difference < 0 ? -difference : difference) / right.magnitude));
  };
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1) reduction(max : greatest) reduction(+ : compared)
  for (std::int64_t first = 0; first < elements_; first += stretch) {
    if (stop.stop_requested()) continue;
    for (std::int64_t index = first; index < std::min(first + stretch, elements_); ++index)
      compare(index, greatest, compared);
  }
  core::honour_stop(stop, "stopped while measuring the error");
  error.greatest = greatest;
  error.elements = compared;
  return error;
}

template class ErrorSample<float>;
template class ErrorSample<double>;

}  // namespace gradus::matmul_detail
