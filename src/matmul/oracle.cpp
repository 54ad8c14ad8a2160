#include "matmul/oracle.hpp"

#include <algorithm>

namespace gradus::matmul_detail {

namespace {

template <class X>
X absolute(X value) {
  return value < 0 ? -value : value;
}

template <class T>
T without_payload(T value) {
  return !std::isnan(value) ? value : std::numeric_limits<T>::quiet_NaN();
}

}  // namespace

template <class T>
Element<T> true_element(const Problem<T>& problem, std::int64_t batch, std::int64_t row, std::int64_t column,
                        T before) {
  using X = Exact<T>;
  const bool reads_c = problem.beta != 0;
  const X rest = reads_c ? static_cast<X>(problem.beta) * static_cast<X>(before) : X{0};
  if (problem.k == 0 || problem.alpha == 0)
    return {without_payload(reads_c ? problem.beta * before : T{0}), rest, absolute(rest)};
  T total = 0;
  X exact = 0;
  X magnitude = 0;
  for (std::int64_t first = 0; first < problem.k; first += block_depth) {
    if (problem.stop.stop_requested()) break;
    T sum = 0;
    for (std::int64_t inner = first; inner < std::min(first + block_depth, problem.k); ++inner) {
      const T left = problem.a.at(batch)(row, inner);
      const T right = problem.b.at(batch)(inner, column);
      sum = std::fma(left, right, sum);
      const X product = static_cast<X>(left) * static_cast<X>(right);
      exact += product;
      magnitude += absolute(product);
    }
    total = first == 0 ? sum : total + sum;
  }
  const T scaled = problem.alpha * total;
  return {without_payload(reads_c ? std::fma(problem.beta, before, scaled) : scaled),
          static_cast<X>(problem.alpha) * exact + rest,
          absolute(static_cast<X>(problem.alpha)) * magnitude + absolute(rest)};
}

template <class T>
Truth<T> oracle(const Problem<T>& problem) {
  Truth<T> truth;
  for (std::int64_t batch = 0; batch < problem.batches; ++batch)
    for (std::int64_t row = 0; row < problem.m; ++row)
      for (std::int64_t column = 0; column < problem.n; ++column) {
        const T before = problem.beta == 0 ? T{0} : problem.c.at(batch)(row, column);
        const Element<T> element = true_element(problem, batch, row, column, before);
        truth.strict.push_back(element.strict);
        truth.exact.push_back(element.exact);
        truth.magnitude.push_back(element.magnitude);
      }
  return truth;
}

#define GRADUS_INSTANTIATE(T)                                                                       \
  template Element<T> true_element(const Problem<T>&, std::int64_t, std::int64_t, std::int64_t, T); \
  template Truth<T> oracle(const Problem<T>&)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::matmul_detail
