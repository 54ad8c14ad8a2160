// Evaluates the networks of plan.hpp. CUDA code, and code that is compiled once per instruction set, include this file
// inside a namespace. First, they must define GRADUS_LIFE_INLINE as the function specifier, such as HWY_INLINE or
// __device__ __forceinline__.
//
// An `Ops` is a struct with three members: `V` is a type for a vector of bits, lut<table>(a, b, c) is a three-input
// operation, and load(word) broadcasts a word to V.

/// For each position: the sum of three horizontally adjacent cells.
template <class V>
struct RowSums {
  V sum;
  V carry;
};

template <class Ops, class V = typename Ops::V>
GRADUS_LIFE_INLINE RowSums<V> row_sums(V left, V cell, V right) {
  return {Ops::template lut<xor_table>(left, cell, right), Ops::template lut<majority_table>(left, cell, right)};
}

/// For each position: the sum of the cell and its eight neighbours.
template <class V>
struct NineSums {
  V ones;
  V carry;
  V twos;
  V fours;
};

template <class Ops, class V = typename Ops::V>
GRADUS_LIFE_INLINE NineSums<V> nine_sums(RowSums<V> above, RowSums<V> here, RowSums<V> below) {
  return {Ops::template lut<xor_table>(above.sum, here.sum, below.sum),
          Ops::template lut<majority_table>(above.sum, here.sum, below.sum),
          Ops::template lut<xor_table>(above.carry, here.carry, below.carry),
          Ops::template lut<majority_table>(above.carry, here.carry, below.carry)};
}

template <int bit, class V>
GRADUS_LIFE_INLINE V one_of(V cell, V ones, V v, V u) {
  if constexpr (bit == of_cell) return cell;
  else if constexpr (bit == of_ones) return ones;
  else if constexpr (bit == of_v) return v;
  else return u;
}

/// The network of a rule that is known at compile time.
template <class Ops, int rule_index>
struct CompiledNetwork {
  using V = typename Ops::V;
  // Defined outside of next(), because the table is host code.
  static constexpr Plan plan = plan_of(compiled_rules[rule_index].rule);

  GRADUS_LIFE_INLINE explicit CompiledNetwork(const Coefficients*) {}

  GRADUS_LIFE_INLINE V next(RowSums<V> above, RowSums<V> here, RowSums<V> below, V cell) const {
    const NineSums<V> nine = nine_sums<Ops>(above, here, below);
    const V u = Ops::template lut<plan.u>(nine.fours, nine.twos, nine.carry);
    const V v = Ops::template lut<plan.v>(nine.fours, nine.twos, nine.carry);
    const V first = one_of<plan.first>(cell, nine.ones, v, u);
    const V second = one_of<plan.second>(cell, nine.ones, v, u);
    const V third = one_of<plan.third>(cell, nine.ones, v, u);
    const V fourth = one_of<plan.fourth>(cell, nine.ones, v, u);
    V result = Ops::template lut<plan.inner>(first, second, third);
    if constexpr (plan.muxed) {
      result = Ops::template lut<0xCA>(fourth, result, Ops::template lut<plan.other>(first, second, third));
    } else {
      result = Ops::template lut<plan.outer>(result, fourth, one_of<plan.fifth>(cell, nine.ones, v, u));
    }
    if constexpr (plan.four_apart) {
      const V four = Ops::template lut<0x80>(nine.fours, nine.twos, nine.carry);
      V at_four = one_of<plan.at_four>(cell, nine.ones, v, u);
      if constexpr (plan.four_takes_two) at_four = Ops::template lut<0x3C>(cell, nine.ones, cell);
      result = Ops::template lut<plan.joined>(four, result, at_four);
    }
    return result;
  }
};

/// The network of a rule that is known at run time. The coefficients of the rule are data.
template <class Ops>
struct GeneralNetwork {
  using V = typename Ops::V;

  GRADUS_LIFE_INLINE explicit GeneralNetwork(const Coefficients* coefficients) : of_(coefficients) {}

  GRADUS_LIFE_INLINE V next(RowSums<V> above, RowSums<V> here, RowSums<V> below, V cell) const {
    const NineSums<V> nine = nine_sums<Ops>(above, here, below);
    const V both = Ops::template lut<0xC0>(nine.ones, cell, cell);
    const V odd = Ops::template lut<0x66>(nine.fours, nine.twos, nine.carry);
    const V two_or_three = Ops::template lut<0x78>(nine.fours, nine.twos, nine.carry);
    const V four = Ops::template lut<0x80>(nine.fours, nine.twos, nine.carry);
    const V low = Ops::template lut<0xCA>(odd, at<1>(nine.ones, cell, both), at<0>(nine.ones, cell, both));
    const V high = Ops::template lut<0xCA>(odd, at<3>(nine.ones, cell, both), at<2>(nine.ones, cell, both));
    const V result = Ops::template lut<0xCA>(two_or_three, high, low);
    return Ops::template lut<0xCA>(four, at<4>(nine.ones, cell, both), result);
  }

 private:
  template <int k>
  GRADUS_LIFE_INLINE V at(V ones, V cell, V both) const {
    V result = Ops::load(of_->of[k][0]);
    result = Ops::template lut<0x78>(result, Ops::load(of_->of[k][1]), ones);
    result = Ops::template lut<0x78>(result, Ops::load(of_->of[k][2]), cell);
    return Ops::template lut<0x78>(result, Ops::load(of_->of[k][3]), both);
  }

  const Coefficients* of_;
};
