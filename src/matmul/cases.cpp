#include "matmul/cases.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "core/philox.hpp"
#include "core/text.hpp"
#include "cpu/memory.hpp"

namespace gradus::matmul_detail {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

/// Returns a random number, distributed uniformly over (-1, 1), that uses all bits of a double.
double random_element(const Place& place, std::uint64_t seed) {
  const core::Philox random(seed, static_cast<std::uint64_t>(place.operand));
  return 2 * random.uniform(place.index) - 1;
}

CaseData product(std::int64_t m, std::int64_t n, std::int64_t k, std::uint64_t seed) {
  CaseData data;
  data.m = m;
  data.n = n;
  data.k = k;
  data.element = [seed](const Place& place, const Limits&) { return random_element(place, seed); };
  return data;
}

template <class Change>
CaseData changed(CaseData data, const Change& change) {
  change(data);
  return data;
}

/// Returns `data` with every element replaced by special(place, element, limits).
template <class Special>
CaseData with_special(CaseData data, const Special& special) {
  data.element = [usual = data.element, special](const Place& place, const Limits& limits) {
    const double element = usual(place, limits);
    return special(place, element, limits);
  };
  return data;
}

using Add = std::function<void(const std::string&, std::function<CaseData(std::uint64_t)>)>;

std::string size_name(std::int64_t m, std::int64_t n, std::int64_t k) {
  return std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k);
}

void add_sizes(const Add& add) {
  constexpr std::int64_t sizes[][3] = {{0, 3, 4},     {3, 0, 4},     {1, 1, 1},    {1, 1, 700},   {1, 65, 70},
                                       {65, 1, 70},   {2, 3, 5},     {4, 4, 4},    {5, 69, 1},    {8, 16, 2},
                                       {12, 32, 64},  {13, 33, 65},  {17, 31, 33}, {24, 64, 256}, {25, 65, 257},
                                       {3, 2, 1025},  {32, 32, 32},  {33, 48, 31}, {64, 68, 16},  {65, 69, 70},
                                       {1, 300, 600}, {300, 1, 600}, {131, 7, 40}, {7, 261, 40}};
  for (const auto& [m, n, k] : sizes)
    add(size_name(m, n, k), [=, m = m, n = n, k = k](auto seed) { return product(m, n, k, seed); });
  // These products are large enough for several threads.
  add("wide_50x900x520", [](auto seed) { return product(50, 900, 520, seed); });
  add("square_230", [](auto seed) { return product(230, 230, 230, seed); });
  add("tall_900x40x300", [](auto seed) { return product(900, 40, 300, seed); });
  add("row_times_matrix", [](auto seed) { return product(1, 3000, 300, seed); });
  add("row_times_more_than_a_cache", [](auto seed) {
    return changed(product(1, 4099, 519, seed), [](CaseData& data) {
      data.b = Layout::padded_rows;
      data.beta = 0.75;
    });
  });
  add("matrix_times_column", [](auto seed) { return product(3000, 1, 300, seed); });
  add("large_and_more", [](auto seed) {
    return changed(product(150, 170, 1300, seed), [](CaseData& data) {
      data.a = Layout::columns;
      data.b = Layout::padded_columns;
      data.beta = -0.5;
    });
  });
  add("deep_130x67x1100", [](auto seed) { return product(130, 67, 1100, seed); });
  add("depth_0", [](auto seed) { return product(5, 6, 0, seed); });
  add("depth_0_beta",
      [](auto seed) { return changed(product(5, 6, 0, seed), [](CaseData& data) { data.beta = -1.75; }); });
}

void add_layouts(const Add& add) {
  const auto laid_out = [](Layout a, Layout b, Layout c, double beta = 0) {
    return [=](std::uint64_t seed) {
      return changed(product(19, 37, 281, seed), [=](CaseData& data) {
        data.a = a;
        data.b = b;
        data.c = c;
        data.beta = beta;
      });
    };
  };
  using enum Layout;
  add("a_transposed", laid_out(columns, rows, rows));
  add("b_transposed", laid_out(rows, columns, rows));
  add("both_transposed", laid_out(columns, padded_columns, rows));
  add("c_transposed", laid_out(rows, rows, columns));
  add("all_transposed", laid_out(columns, columns, columns));
  add("padded", laid_out(padded_rows, padded_rows, padded_rows));
  add("padded_columns", laid_out(padded_columns, padded_columns, padded_columns, 0.5));
  add("apart", laid_out(apart, apart, apart));
  add("apart_beta", laid_out(apart, rows, apart, 3));
  add("backwards", laid_out(backwards, backwards, rows));
  const auto batch = [](std::int64_t batches, std::int64_t m, std::int64_t n, std::int64_t k, Layout a, Layout b,
                        Layout c, double beta = 0) {
    return [=](std::uint64_t seed) {
      return changed(product(m, n, k, seed), [=](CaseData& data) {
        data.batches = batches;
        data.a = a;
        data.b = b;
        data.c = c;
        data.beta = beta;
      });
    };
  };
  add("batch", batch(7, 5, 6, 7, rows, rows, rows));
  add("batch_of_4x4", batch(50, 4, 4, 4, rows, rows, rows));
  add("batch_of_1x1", batch(33, 1, 1, 3, rows, rows, rows));
  add("batch_transposed", batch(5, 9, 17, 300, columns, columns, padded_columns, -1));
  add("batch_one_a", batch(6, 8, 20, 15, repeated, rows, rows));
  add("batch_one_b", batch(6, 8, 20, 15, rows, repeated, rows));
  add("batch_one_b_padded", batch(3, 8, 20, 15, padded_rows, repeated, padded_rows, 2));
  add("batch_of_none", batch(0, 3, 3, 3, rows, rows, rows));
}

void add_scalars(const Add& add) {
  const auto scaled = [](double alpha, double beta) {
    return [=](std::uint64_t seed) {
      return changed(product(21, 45, 530, seed), [=](CaseData& data) {
        data.alpha = alpha;
        data.beta = beta;
      });
    };
  };
  add("alpha", scaled(1.0 / 3, 0));
  add("minus", scaled(-1, 0));
  add("beta_1", scaled(1, 1));
  add("alpha_beta", scaled(0.7, -2.3));
  add("alpha_0", scaled(0, 1.5));
  add("alpha_0_beta_0", scaled(0, 0));
  add("beta_0_meets_nan", [=](auto seed) {
    return with_special(scaled(1, 0)(seed), [](const Place& place, double element, const Limits&) {
      return place.operand == 'C' ? nan : element;
    });
  });
  add("alpha_0_meets_nan", [=](auto seed) {
    return with_special(scaled(0, 0.5)(seed), [](const Place& place, double element, const Limits&) {
      return place.operand == 'C' ? element : nan;
    });
  });
}

void add_values(const Add& add) {
  // 1024.5 needs 12 significant bits. TF32 has 11, and BF16 has 8.
  add("needs_all_bits", [](auto seed) {
    return with_special(product(3, 4, 5, seed), [](const Place& place, double, const Limits&) {
      return place.operand == 'A' ? (place.column == 0 ? 1024.5 : 0) : (place.row == 0 ? 1.0 : 0.0);
    });
  });
  add("whole_numbers", [](auto seed) {
    return with_special(product(40, 50, 300, seed),
                        [](const Place&, double element, const Limits&) { return std::floor(element * 100); });
  });
  add("nan_and_infinity", [](auto seed) {
    return with_special(product(30, 40, 300, seed), [](const Place& place, double element, const Limits&) {
      if (place.operand == 'A' && place.row == 3 && place.column == 280) return nan;
      if (place.operand == 'A' && place.row == 5 && place.column == 17) return infinity;
      if (place.operand == 'B' && place.row == 17 && place.column == 2) return 0.0;
      if (place.operand == 'B' && place.row == 100 && place.column == 9) return -infinity;
      if (place.operand == 'B' && place.row == 101 && place.column == 9) return infinity;
      return element;
    });
  });
  add("nan_in_c", [](auto seed) {
    return with_special(changed(product(6, 40, 9, seed), [](CaseData& data) { data.beta = 1; }),
                        [](const Place& place, double element, const Limits&) {
                          return place.operand == 'C' && place.column == 33 ? nan : element;
                        });
  });
  add("denormal", [](auto seed) {
    return with_special(product(18, 35, 290, seed), [](const Place& place, double element, const Limits& limits) {
      return place.operand == 'A' ? std::ldexp(element, 8) * limits.least : element;
    });
  });
  // Each product is below the smallest positive number, but the sum of many products is not.
  add("below_the_least", [](auto seed) {
    return with_special(product(18, 35, 600, seed), [](const Place&, double element, const Limits& limits) {
      return element * std::sqrt(limits.least) * 1.5;
    });
  });
  add("near_the_greatest", [](auto seed) {
    return with_special(product(18, 35, 290, seed), [](const Place& place, double element, const Limits& limits) {
      return place.operand == 'A' ? element * limits.greatest / 1024 : element;
    });
  });
  add("overflow", [](auto seed) {
    return with_special(product(18, 35, 290, seed), [](const Place& place, double element, const Limits& limits) {
      return place.operand == 'A' ? element * limits.greatest : element * 2;
    });
  });
  add("cancelling", [](auto seed) {
    return with_special(product(20, 33, 512, seed), [seed](const Place& place, double, const Limits&) {
      // The second half of the terms cancels the first half except for a few bits.
      Place first = place;
      const bool is_a = place.operand == 'A';
      std::int64_t& inner = is_a ? first.column : first.row;
      const bool second = inner >= 256;
      if (second) inner -= 256;
      first.index = static_cast<std::uint64_t>(first.row * 1000 + first.column);
      const double element = random_element(first, seed);
      return second && is_a ? -element * (1 + 0x1p-20) : element;
    });
  });
  add("rows_and_columns_far_apart", [](auto seed) {
    return with_special(product(20, 33, 300, seed), [](const Place& place, double element, const Limits&) {
      const std::int64_t line = place.operand == 'A' ? place.row : place.column;
      return element * std::pow(10.0, static_cast<double>(line % 7 - 3) * 5);
    });
  });
  add("terms_far_apart", [](auto seed) {
    return with_special(product(20, 33, 300, seed), [](const Place& place, double element, const Limits&) {
      const std::int64_t inner = place.operand == 'A' ? place.column : place.row;
      const double factor = std::ldexp(1.0, static_cast<int>(inner % 11 - 5) * 10);
      return place.operand == 'A' ? element * factor : element / factor;
    });
  });
  add("zeros_and_minus_zeros", [](auto seed) {
    return with_special(product(9, 34, 30, seed), [](const Place& place, double element, const Limits&) {
      return place.index % 3 == 0 ? -0.0 : place.index % 3 == 1 ? 0.0 : element;
    });
  });
}

std::vector<Case> make_cases() {
  std::vector<Case> list;
  const Add add = [&list](const std::string& name, std::function<CaseData(std::uint64_t)> make) {
    list.push_back({name, std::move(make)});
  };
  add_sizes(add);
  add_layouts(add);
  add_scalars(add);
  add_values(add);
  return list;
}

template <class T>
void fill(LaidOut<T>& matrices, char operand, const CaseData& data) {
  constexpr Limits limits{static_cast<double>(std::numeric_limits<T>::max()),
                          static_cast<double>(std::numeric_limits<T>::min()),
                          static_cast<double>(std::numeric_limits<T>::denorm_min())};
  const MatmulView<T> view = matrices.view();
  const std::int64_t different = view.batch_stride() == 0 ? std::min<std::int64_t>(view.batches(), 1) : view.batches();
  std::uint64_t index = 0;
  for (std::int64_t batch = 0; batch < different; ++batch)
    for (std::int64_t row = 0; row < view.rows(); ++row)
      for (std::int64_t column = 0; column < view.columns(); ++column)
        view(row, column, batch) = static_cast<T>(data.element({operand, row, column, index++}, limits));
}

template <class T>
bool same_bits(T one, T other) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  return std::bit_cast<Bits>(one) == std::bit_cast<Bits>(other);
}

std::string number(double value) {
  return std::isfinite(value) ? core::number_text(value)
         : std::isnan(value)  ? "NaN"
         : value > 0          ? "infinity"
                              : "-infinity";
}

}  // namespace

const std::vector<Case>& cases() {
  static const std::vector<Case> list = make_cases();
  return list;
}

template <class T>
std::string judge(T value, const Element<T>& truth, const Problem<T>& problem, const core::Contract& contract,
                  MatmulAccuracy accuracy) {
  const auto is_instead_of = [&](double right) { return "is " + number(value) + " instead of " + number(right); };
  if (contract == core::Contract::same_bits)
    return same_bits(value, truth.strict) ? "" : is_instead_of(static_cast<double>(truth.strict));
  using X = Exact<T>;
  const X exact = truth.exact;
  // NOLINTNEXTLINE(misc-redundant-expression): true for NaN
  if (exact != exact) return std::isnan(value) ? "" : is_instead_of(nan);
  // NOLINTNEXTLINE(misc-redundant-expression): true for infinity
  if (exact - exact != 0) return static_cast<X>(value) == exact ? "" : is_instead_of(static_cast<double>(exact));
  // Near the largest number, a partial sum may or may not overflow, depending on the order of the terms.
  if (!(truth.magnitude <= static_cast<X>(std::numeric_limits<T>::max()) / 2) && !std::isfinite(value)) return "";
  const double factor = accuracy == MatmulAccuracy::strict ? textbook_bound<T>(problem.k)
                                                           : matmul_error_bound(accuracy, problem.k, sizeof(T));
  const X alpha = static_cast<X>(std::max(std::abs(problem.alpha), T{1}));
  const X bound = static_cast<X>(factor) * truth.magnitude +
                  2 * static_cast<X>(problem.k + 1) * alpha * static_cast<X>(std::numeric_limits<T>::denorm_min());
  const X error = static_cast<X>(value) - exact;
  if (!((error < 0 ? -error : error) <= bound))
    return is_instead_of(static_cast<double>(exact)) + ", off by " + number(static_cast<double>(error)) + " where " +
           number(static_cast<double>(bound)) + " is allowed";
  return "";
}

template <class T>
LaidOut<T>::LaidOut(std::int64_t batches, std::int64_t rows, std::int64_t columns, Layout layout)
    : batches_(batches), rows_(rows), columns_(columns) {
  constexpr std::int64_t padding = 3;
  const bool by_columns = layout == Layout::columns || layout == Layout::padded_columns;
  const bool padded = layout == Layout::padded_rows || layout == Layout::padded_columns;
  const std::int64_t inner = by_columns ? rows : columns;
  const std::int64_t outer = by_columns ? columns : rows;
  const std::int64_t step = layout == Layout::apart ? 2 : 1;
  const std::int64_t line = inner * step + (padded ? padding : 0);
  row_stride_ = by_columns ? step : line;
  column_stride_ = by_columns ? line : step;
  batch_stride_ = layout == Layout::repeated ? 0 : line * outer + (padded ? padding : 0);
  const std::int64_t different = layout == Layout::repeated ? 1 : batches;
  const auto size =
      static_cast<std::size_t>(std::max<std::int64_t>(different * std::max(batch_stride_, line * outer), 1));
  elements_.reserve(size);
  cpu::prefer_large_pages(elements_.data(), size * sizeof(T));  // requests large pages, as file readers and NumPy do
  elements_.assign(size, static_cast<T>(-77));
  if (layout == Layout::backwards && rows * columns > 0) {
    first_ = (rows - 1) * row_stride_ + (columns - 1) * column_stride_;
    row_stride_ = -row_stride_;
    column_stride_ = -column_stride_;
  }
}

template <class T>
PreparedCase<T>::PreparedCase(const CaseData& data)
    : a_(data.batches, data.m, data.k, data.a), b_(data.batches, data.k, data.n, data.b),
      c_(data.batches, data.m, data.n, data.c) {
  fill(a_, 'A', data);
  fill(b_, 'B', data);
  fill(c_, 'C', data);
  options_.alpha = data.alpha;
  options_.beta = data.beta;
  problem_ = problem_of<T>(a_.view(), b_.view(), c_.view(), data.alpha, data.beta);
}

template <class T>
const Truth<T>& PreparedCase<T>::truth() const {
  if (!truth_) truth_ = oracle(problem_);
  return *truth_;
}

template <class T>
std::string PreparedCase<T>::check(const Variant& variant, const Execution& execution) const {
  LaidOut<T> c = c_;
  Execution with_variant = execution;
  with_variant.variant = variant.name;
  matmul(a_.view(), b_.view(), options_, MatmulMemory<T>{c.view()}, with_variant);
  return fault_in(c, variant);
}

template <class T>
std::string PreparedCase<T>::fault_in(const LaidOut<T>& c, const Variant& variant) const {
  const Truth<T>& right = truth();
  const MatmulView<const T> view = c.view();
  std::vector<T> rest = c.elements();  // everything but the elements of C must be unchanged
  std::size_t index = 0;
  for (std::int64_t batch = 0; batch < problem_.batches; ++batch)
    for (std::int64_t row = 0; row < problem_.m; ++row)
      for (std::int64_t column = 0; column < problem_.n; ++column, ++index) {
        const T& value = view(row, column, batch);
        const std::string wrong =
            judge(value, Element<T>{right.strict[index], right.exact[index], right.magnitude[index]}, problem_,
                  variant.contract, variant.facts.accuracy);
        if (!wrong.empty())
          return "element (" + std::to_string(row) + ", " + std::to_string(column) + ")" +
                 (problem_.batches > 1 ? " of product " + std::to_string(batch) : "") + " " + wrong;
        const std::int64_t place = &value - c.elements().data();
        rest[static_cast<std::size_t>(place)] = c_.elements()[static_cast<std::size_t>(place)];
      }
  for (std::size_t place = 0; place < rest.size(); ++place)
    if (!same_bits(rest[place], c_.elements()[place]))
      return "memory between the elements of C was written, " + std::to_string(place) + " elements from its beginning";
  return "";
}

#define GRADUS_INSTANTIATE(T)     \
  template class LaidOut<T>;      \
  template class PreparedCase<T>; \
  template std::string judge(T, const Element<T>&, const Problem<T>&, const core::Contract&, MatmulAccuracy)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

}  // namespace gradus::matmul_detail
