// Compares every matmul variant that runs on this machine with a reference. Checks the canonical bits and the error
// bound. The reference uses integers of arbitrary precision and shares no code with the library.
#include <gmpxx.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "matmul/variants.hpp"
#include "tests/attack/attack.hpp"
#include "tests/attack/exact.hpp"

namespace gradus::attack {

namespace {

/// A matrix or a batch of matrices in memory, with arbitrary strides.
template <class T>
struct Placed {
  std::vector<T> memory;
  std::int64_t first = 0;
  std::int64_t rows = 0, columns = 0, row_stride = 0, column_stride = 0, batch_stride = 0;

  std::size_t place(std::int64_t batch, std::int64_t row, std::int64_t column) const {
    return static_cast<std::size_t>(first + batch * batch_stride + row * row_stride + column * column_stride);
  }
  T at(std::int64_t batch, std::int64_t row, std::int64_t column) const { return memory[place(batch, row, column)]; }
};

template <class T>
struct ProductCase {
  std::int64_t batches = 1, m = 0, n = 0, k = 0;
  std::string kind;
  double alpha = 1;
  double beta = 0;
  Placed<T> a, b, c;
};

template <class T>
Placed<T> placed(std::int64_t batches, std::int64_t rows, std::int64_t columns, bool read_only, Random& random) {
  Placed<T> view;
  view.rows = rows;
  view.columns = columns;
  const std::int64_t step = random.chance(0.2) ? 2 : 1;
  const std::int64_t gap = random.chance(0.3) ? random.between(1, 5) : 0;
  const bool down = random.chance(0.4);
  view.column_stride = down ? rows * step + gap : step;
  view.row_stride = down ? step : columns * step + gap;
  const std::int64_t size = down ? view.column_stride * columns : view.row_stride * rows;
  view.batch_stride = size + (random.chance(0.3) ? 3 : 0);
  if (read_only && random.chance(0.1)) view.batch_stride = 0;
  view.memory.assign(static_cast<std::size_t>(std::max<std::int64_t>((batches - 1) * view.batch_stride + size, 0) + 1),
                     T{7});
  if (read_only && random.chance(0.1) && rows > 0) {
    view.first = (rows - 1) * view.row_stride;
    view.row_stride = -view.row_stride;
  }
  return view;
}

template <class T>
T drawn(Random& random, int kind, std::int64_t inner, std::int64_t outer, bool of_a) {
  constexpr T most = std::numeric_limits<T>::max();
  constexpr T normal = std::numeric_limits<T>::min();
  constexpr T least = std::numeric_limits<T>::denorm_min();
  const auto any = static_cast<T>(random.uniform(-1, 1));
  const T scale = sizeof(T) == 4 ? static_cast<T>(1e15F) : static_cast<T>(1e120);
  switch (kind) {
    case 0: return any;
    case 1: return static_cast<T>(random.between(-9, 9));
    case 2: return of_a ? static_cast<T>(random.between(-200, 200)) * least : any;
    case 3: return of_a ? any * most / 1024 : any;
    case 4: return any * std::sqrt(normal);
    case 5: return any * std::sqrt(least) * 2;
    case 6: return outer % 3 == 0 ? any * scale : outer % 3 == 1 ? any / scale : any;
    case 7: return (inner % 2 == 0) == of_a ? any * scale : any / scale;
    case 8: return moved_by_steps(T{1}, random.between(-3, 3)) * (inner % 2 == 0 && of_a ? T{-1} : T{1});
    case 9: return random.pick({T{0}, -T{0}, any, T{1}, T{-1}});
    case 10:
      return random.chance(0.03) ? random.pick({std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity(),
                                                std::numeric_limits<T>::quiet_NaN(), T{0}})
                                 : any;
    case 11: return any * most;
    default: return static_cast<T>(std::ldexp(static_cast<double>(any), static_cast<int>(random.between(-60, 60))));
  }
}

template <class T>
ProductCase<T> make_case(std::uint64_t seed, std::uint64_t number) {
  Random random(seed, number, 12);
  ProductCase<T> made;
  const auto size = [&]() -> std::int64_t {
    if (random.chance(0.15)) return random.pick({1, 4, 8, 12, 13, 16, 17, 24, 31, 32, 33, 48, 49});
    return random.between(0, 9);
  };
  made.m = size();
  made.n = size();
  made.k = random.chance(0.15) ? random.pick({255, 256, 257, 300, 513}) : random.between(0, 40);
  while (made.m * made.n * made.k > 6000) (made.m > made.n ? made.m : made.n) /= 2;
  made.batches = random.chance(0.2) ? random.between(0, 4) : 1;
  made.alpha = random.chance(0.6) ? 1 : random.pick({0.0, -1.0, 0.5, 1.0 / 3, random.uniform(-3, 3), 1e-30});
  made.beta = random.chance(0.6) ? 0 : random.pick({1.0, -1.0, 2.5, random.uniform(-3, 3), 1e-20});
  made.a = placed<T>(made.batches, made.m, made.k, true, random);
  made.b = placed<T>(made.batches, made.k, made.n, true, random);
  made.c = placed<T>(made.batches, made.m, made.n, false, random);
  const int kind = static_cast<int>(random.below(13));
  made.kind = fmt::format("{} of {} x {} x {}, numbers of kind {}, alpha {}, beta {}", made.batches, made.m, made.n,
                          made.k, kind, made.alpha, made.beta);
  for (std::int64_t batch = 0; batch < made.batches; ++batch) {
    for (std::int64_t inner = 0; inner < made.k; ++inner) {
      for (std::int64_t row = 0; row < made.m; ++row)
        made.a.memory[made.a.place(batch, row, inner)] = drawn<T>(random, kind, inner, row, true);
      for (std::int64_t column = 0; column < made.n; ++column)
        made.b.memory[made.b.place(batch, inner, column)] = drawn<T>(random, kind, inner, column, false);
    }
    for (std::int64_t row = 0; row < made.m; ++row)
      for (std::int64_t column = 0; column < made.n; ++column)
        made.c.memory[made.c.place(batch, row, column)] = drawn<T>(random, kind, row, column, false);
  }
  return made;
}

/// Returns a b + c, rounded once. Uses the CPU's arithmetic if a number is infinite or NaN, or if a factor is 0.
template <class T>
T fused(T a, T b, T c) {
  if (!std::isfinite(a) || !std::isfinite(b)) return a * b + c;
  if (!std::isfinite(c)) return c;
  if (a == 0 || b == 0) return a * b + c;
  const mpz_class exact = in_steps(double{a}) * in_steps(double{b}) + shifted(in_steps(double{c}), -step_exponent);
  return exact == 0 ? T{0} : round_once<T>(exact, product_exponent);
}

template <class T>
T one_nan(T value) {
  return std::isnan(value) ? std::numeric_limits<T>::quiet_NaN() : value;
}

template <class T>
struct Right {
  T strict = 0;
  bool bounded = false;     ///< true if all values are finite and nothing can overflow
  mpz_class exact = 0;      ///< in units of 2^-3222, as are the following members
  mpz_class magnitude = 0;  ///< |alpha| |A| |B| + |beta| |C|
};

template <class T>
Right<T> reference(const ProductCase<T>& made, std::int64_t batch, std::int64_t row, std::int64_t column) {
  Right<T> right;
  const auto alpha = static_cast<T>(made.alpha);
  const auto beta = static_cast<T>(made.beta);
  const T before = beta == 0 ? T{0} : made.c.at(batch, row, column);
  const bool empty = alpha == 0 || made.k == 0;
  mpz_class sum = 0;
  mpz_class sum_of_magnitudes = 0;
  bool finite = std::isfinite(before);
  T total = 0;
  for (std::int64_t first = 0; first < made.k && !empty; first += 256) {
    T chain = 0;
    for (std::int64_t inner = first; inner < std::min<std::int64_t>(first + 256, made.k); ++inner) {
      const T a = made.a.at(batch, row, inner);
      const T b = made.b.at(batch, inner, column);
      chain = fused(a, b, chain);
      if (!std::isfinite(a) || !std::isfinite(b)) {
        finite = false;
        continue;
      }
      const mpz_class product = in_steps(double{a}) * in_steps(double{b});
      sum += product;
      sum_of_magnitudes += abs(product);
    }
    total = first == 0 ? chain : total + chain;
  }
  if (empty) right.strict = one_nan(beta == 0 ? T{0} : beta * before);
  else right.strict = one_nan(beta == 0 ? alpha * total : fused(beta, before, static_cast<T>(alpha * total)));
  if (!finite) return right;
  const mpz_class of_c = shifted(in_steps(double{beta}) * in_steps(double{before}), -step_exponent);
  right.exact = in_steps(double{alpha}) * sum + of_c;
  right.magnitude = abs(in_steps(double{alpha})) * sum_of_magnitudes + abs(of_c);
  const mpz_class greatest = in_steps(double{std::numeric_limits<T>::max()});
  right.bounded = 2 * sum_of_magnitudes < shifted(greatest, -step_exponent) &&
                  2 * right.magnitude < shifted(greatest, -2 * step_exponent);
  return right;
}

template <class T>
class Check {
 public:
  explicit Check(ProductCase<T> made) : made_(std::move(made)) {
    for (std::int64_t batch = 0; batch < made_.batches; ++batch)
      for (std::int64_t row = 0; row < made_.m; ++row)
        for (std::int64_t column = 0; column < made_.n; ++column)
          right_.push_back(reference(made_, batch, row, column));
  }

  std::string fault(const Run& run) const {
    Placed<T> c = made_.c;
    const auto outcome = outcome_of([&] {
      MatmulOptions options;
      options.alpha = made_.alpha;
      options.beta = made_.beta;
      matmul(view<const T>(made_.a, made_.a.memory.data()), view<const T>(made_.b, made_.b.memory.data()), options,
             MatmulMemory<T>{view<T>(c, c.memory.data())}, run.execution);
      return 0;
    });
    if (!outcome.answer) return fmt::format("error {}: {}", outcome.status, outcome.message);
    Placed<T> rest = c;
    std::size_t index = 0;
    for (std::int64_t batch = 0; batch < made_.batches; ++batch)
      for (std::int64_t row = 0; row < made_.m; ++row)
        for (std::int64_t column = 0; column < made_.n; ++column) {
          const std::string wrong = fault_of(c.at(batch, row, column), right_[index++], run.contract);
          if (!wrong.empty()) return fmt::format("element ({}, {}, {}): {}", batch, row, column, wrong);
          rest.memory[rest.place(batch, row, column)] = made_.c.at(batch, row, column);
        }
    return difference("memory of C", rest.memory, made_.c.memory);
  }

  matmul_detail::Shape shape() const {
    return {.batches = made_.batches, .m = made_.m, .n = made_.n, .k = made_.k, .element_bytes = sizeof(T)};
  }

 private:
  template <class U>
  MatmulView<U> view(const Placed<T>& placed, U* memory) const {
    return MatmulView<U>(memory + placed.first, placed.rows, placed.columns, placed.row_stride, placed.column_stride)
        .batch(made_.batches, placed.batch_stride);
  }

  std::string fault_of(T is, const Right<T>& right, const core::Contract& contract) const {
    if (contract == core::Contract::same_bits && !same_bits(is, right.strict))
      return fmt::format("{} instead of {}", is, right.strict);
    if (!right.bounded) return "";
    if (!std::isfinite(is)) return fmt::format("{}", is);
    const double unit = std::ldexp(1.0, -std::numeric_limits<T>::digits);
    const auto k = static_cast<double>(made_.k);
    const double roundings =
        contract == core::Contract::same_bits ? std::min(k, 256.0) + std::ceil(k / 256) + 1 : k + 2;
    const mpq_class bound = mpq_class(roundings * unit) / (1 - mpq_class(roundings * unit));
    const mpz_class least = shifted(in_steps(double{std::numeric_limits<T>::denorm_min()}), -2 * step_exponent);
    const mpq_class small = mpq_class(2 * (k + 1)) *
                            mpq_class(std::max(std::abs(static_cast<double>(static_cast<T>(made_.alpha))), 1.0)) *
                            mpq_class(least);
    const mpz_class error = abs(shifted(in_steps(double{is}), -2 * step_exponent) - right.exact);
    if (mpq_class(error) > bound * mpq_class(right.magnitude) + small) return fmt::format("{} is too far off", is);
    return "";
  }

  ProductCase<T> made_;
  std::vector<Right<T>> right_;
};

template <class T>
void attack_case(const AttackOptions& options, std::uint64_t number, AttackReport& report) {
  const ProductCase<T> made = make_case<T>(options.seed, number);
  const std::string headline = fmt::format("{}, {}", execution::element_name<T>(), made.kind);
  if (options.verbose) fmt::print("matmul case {}: {}\n", number, headline);
  const Check<T> check(made);
  CaseReport of_case("matmul", options, number, report);
  for (Run& run : runs_of(matmul_detail::variants(), check.shape(), options, number))
    of_case.judge("matmul by " + run.text, check.fault(run), headline);
  of_case.finish();
}

}  // namespace

AttackReport attack_matmul(const AttackOptions& options);
AttackReport attack_matmul(const AttackOptions& options) {
  AttackReport report;
  for (std::uint64_t number = options.first; number < options.first + options.cases; ++number)
    if (number % 2 == 0) attack_case<float>(options, number, report);
    else attack_case<double>(options, number, report);
  return report;
}

}  // namespace gradus::attack
