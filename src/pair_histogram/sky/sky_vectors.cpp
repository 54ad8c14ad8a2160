// sky_vectors() and squared chords: sines and cosines of angles in degrees, with the same bits on every machine.
#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "core/text.hpp"
#include "execution/whole_call.hpp"
#include "gradus/pair_histogram_counts.hpp"
#include "pair_histogram/sky/sky_rule.hpp"

namespace gradus {

namespace pair_histogram_detail {

namespace {

/// The unevaluated sum of two doubles, for about 104 bits.
struct TwoDoubles {
  double high = 0;
  double low = 0;
};

TwoDoubles two_sum(double a, double b) {
  const double sum = a + b;
  const double added = sum - a;
  return {sum, (a - (sum - added)) + (b - added)};
}

TwoDoubles add(TwoDoubles a, TwoDoubles b) {
  const TwoDoubles sum = two_sum(a.high, b.high);
  return two_sum(sum.high, sum.low + (a.low + b.low));
}

TwoDoubles multiply(TwoDoubles a, TwoDoubles b) {
  const double product = a.high * b.high;
  return two_sum(product, std::fma(a.high, b.high, -product) + (a.high * b.low + a.low * b.high));
}

TwoDoubles divide(TwoDoubles a, double b) {
  const double quotient = a.high / b;
  return two_sum(quotient, (std::fma(-quotient, b, a.high) + a.low) / b);
}

struct SineCosine {
  TwoDoubles sine;
  TwoDoubles cosine;
};

TwoDoubles negative(TwoDoubles a) { return {-a.high, -a.low}; }

/// Taylor series of sine and cosine. The terms of up to 45 degrees are below 2^-107 from the 29th on.
constexpr int taylor_terms = 28;

std::array<TwoDoubles, taylor_terms + 1> inverse_factorials() {
  std::array<TwoDoubles, taylor_terms + 1> inverse{};
  inverse[0] = {1, 0};
  for (std::size_t term = 1; term < inverse.size(); ++term)
    inverse[term] = divide(inverse[term - 1], static_cast<double>(term));
  return inverse;
}

SineCosine sine_and_cosine(double degrees) {
  static const auto inverse = inverse_factorials();
  const double turn = std::fmod(std::abs(degrees), 360);
  const double quarter = std::nearbyint(turn / 90);
  const double rest = turn - 90 * quarter;                                   // exact
  constexpr TwoDoubles radian{0x1.1df46a2529d39p-6, 0x1.5c1d8becdd291p-62};  // pi / 180
  const TwoDoubles angle = multiply({rest, 0}, radian);
  const TwoDoubles minus_square = negative(multiply(angle, angle));
  TwoDoubles cosine = inverse[taylor_terms];
  TwoDoubles sine = inverse[taylor_terms - 1];
  for (int term = taylor_terms - 2; term > 0; term -= 2) {
    cosine = add(multiply(cosine, minus_square), inverse[static_cast<std::size_t>(term)]);
    sine = add(multiply(sine, minus_square), inverse[static_cast<std::size_t>(term - 1)]);
  }
  cosine = add(multiply(cosine, minus_square), inverse[0]);
  sine = multiply(sine, angle);
  SineCosine result{sine, cosine};
  for (int turns = static_cast<int>(quarter) % 4; turns > 0; --turns) result = {result.cosine, negative(result.sine)};
  if (degrees < 0) result.sine = negative(result.sine);
  return result;
}

void check_direction(std::int64_t row, std::int64_t column, double value, bool is_valid) {
  if (is_valid) return;
  throw InputError(about("points") + "the " + (column == 0 ? "right ascension" : "declination") + " in row " +
                       std::to_string(row) + " (counted from 0) is " + core::number_text(value) + "; " +
                       (column == 0 ? "a number of degrees" : "-90 to 90 degrees") +
                       (std::isfinite(value) ? " is needed; is the order right ascension, declination?" : " is needed"),
                   {.code = std::isfinite(value) ? error_code::out_of_range : error_code::not_finite,
                    .row = row,
                    .column = column,
                    .value = core::number_text(value)});
}

}  // namespace

double squared_chord_of(double degrees) {
  const TwoDoubles sine = sine_and_cosine(degrees / 2).sine;
  return 4 * multiply(sine, sine).high;
}

}  // namespace pair_histogram_detail

namespace room = pair_histogram_detail;

std::vector<double> sky_vectors(MatrixView<const double> directions) {
  return execution::whole_call([&] {
    if (directions.columns() != 2)
      throw InputError(about("points") + "there are " + std::to_string(directions.columns()) +
                       " columns; two are needed, right ascension and declination in degrees");
    std::vector<double> vectors;
    vectors.reserve(static_cast<std::size_t>(3 * directions.rows()));
    for (std::int64_t row = 0; row < directions.rows(); ++row) {
      const double ascension = directions(row, 0);
      const double declination = directions(row, 1);
      room::check_direction(row, 0, ascension, std::isfinite(ascension));
      room::check_direction(row, 1, declination, std::abs(declination) <= 90);
      const room::SineCosine around = room::sine_and_cosine(ascension);
      const room::SineCosine up = room::sine_and_cosine(declination);
      for (const double component :
           {up.cosine.high * around.cosine.high, up.cosine.high * around.sine.high, up.sine.high})
        vectors.push_back(component + 0.0);  // no negative zero
    }
    return vectors;
  });
}

}  // namespace gradus
