#include "pair_histogram/tests/attack_cases.hpp"
#include "pair_histogram/tests/attack_reference.hpp"

#include <algorithm>
#include <cmath>

namespace gradus::attack {

namespace {

template <class T>
class Maker {
 public:
  Maker(std::uint64_t seed, std::uint64_t number) : random_(seed, number, sizeof(T) == 4 ? 3 : 4) {}

  PairCase<T> make() {
    made_.columns = random_.pick<std::int64_t>({1, 1, 2, 3, 3, 3});
    made_.cross = random_.chance(0.3);
    weighted_ = random_.chance(0.35);
    make_points();
    if (made_.columns == 3 && random_.chance(0.2)) make_cell();
    else if (random_.chance(0.4)) make_box();
    make_bins();
    if (weighted_) {
      const std::int64_t kind = random_.below(7);
      made_.weights = weights(made_.points.size(), kind);
      if (made_.cross)
        made_.other_weights = weights(made_.others.size(), random_.chance(0.5) ? kind : random_.below(7));
    }
    made_.room = random_.chance(0.2) ? random_.between(1, 4) : 0;
    return std::move(made_);
  }

 private:
  static double number(T value) { return static_cast<double>(value); }
  // limits coordinates, so that T can represent a box that is two or three times as large
  static T clamped(double value) {
    const double limit = sizeof(T) == 4 ? 1e37 : 0x1p498;
    return static_cast<T>(std::clamp(value, -limit, limit));
  }
  std::size_t size(std::int64_t value) const { return static_cast<std::size_t>(value); }

  std::int64_t count() {
    const double which = random_.uniform();
    if (weighted_) return which < 0.5 ? random_.between(1, 20) : random_.between(20, 200);
    if (which < 0.02) return random_.between(0, 1);
    if (which < 0.45) return random_.between(2, 20);
    if (which < 0.9) return random_.between(20, 300);
    return which < 0.985 ? random_.between(300, 1200) : random_.between(2000, 4200);
  }

  void make_points() {
    const std::int64_t n = count();
    const std::int64_t m = made_.cross ? count() : 0;
    const bool scaled = random_.chance(0.25);
    const bool each_its_own = random_.chance(0.25);
    ColumnKind<T> column(random_, scaled);
    made_.points.assign(size(n), std::vector<T>(size(made_.columns)));
    made_.others.assign(size(m), std::vector<T>(size(made_.columns)));
    for (std::int64_t dim = 0; dim < made_.columns; ++dim) {
      if (dim > 0 && each_its_own) column = ColumnKind<T>(random_, scaled);
      if (dim == 0 || each_its_own) made_.kind += (dim > 0 ? ", " : "") + column.name();
      for (Rows<T>* rows : {&made_.points, &made_.others})
        for (std::vector<T>& row : *rows) row[size(dim)] = clamped(number(column.draw(random_)));
    }
    if (random_.chance(0.1) && n > 1) {
      made_.kind += "; duplicates";
      for (std::int64_t row = n / 2; row < n; ++row) made_.points[size(row)] = made_.points[size(row - n / 2)];
    }
    if (random_.chance(0.1) && n > 0) {
      made_.kind += "; outlier";
      made_.points[size(random_.below(n))][0] = static_cast<T>(random_.sign() * random_.pick<double>({1e3, 1e9, 1e15}));
    }
    if (random_.chance(0.15)) sort_of_groups();
  }

  /// Makes a few tight groups, so that all pairs of two groups are in one bin.
  void sort_of_groups() {
    made_.kind += "; groups";
    const double width = random_.pick<double>({1e-12, 1e-5, 1e-2});
    for (Rows<T>* rows : {&made_.points, &made_.others})
      for (std::size_t row = 5; row < rows->size(); ++row)
        for (std::size_t dim = 0; dim < size(made_.columns); ++dim)
          (*rows)[row][dim] = static_cast<T>(number((*rows)[row % 5][dim]) * (1 + width * random_.uniform()));
  }

  template <class Visit>
  void each_row(const Visit& visit) {
    for (Rows<T>* rows : {&made_.points, &made_.others})
      for (std::vector<T>& row : *rows) visit(row);
  }

  /// Makes a box that contains all points. Moves some points to the box's borders, or half of its length away from a
  /// border.
  void make_box() {
    made_.kind += "; box";
    const bool origin = random_.chance(0.6);
    for (std::size_t dim = 0; dim < size(made_.columns); ++dim) {
      double low = 0;
      double high = 0;
      bool first = true;
      each_row([&](const std::vector<T>& row) {
        low = first ? number(row[dim]) : std::min(low, number(row[dim]));
        high = first ? number(row[dim]) : std::max(high, number(row[dim]));
        first = false;
      });
      double corner = origin ? low : 0;
      if (!origin)  // without an origin, no coordinate may be negative
        each_row([&](std::vector<T>& row) { row[dim] = static_cast<T>(number(row[dim]) - low); });
      double highest = 0;
      each_row([&](const std::vector<T>& row) { highest = std::max(highest, number(row[dim]) - corner); });
      double length = highest;
      if (random_.chance(0.4)) length *= random_.pick<double>({1, 1 + 0x1p-52, 1.25, 2, 3});
      if (random_.chance(0.3)) length = std::exp2(std::ceil(std::log2(length)));
      if (!(length > 0) || !std::isfinite(length)) length = random_.pick<double>({1, 1e-300, 10});
      length = std::min(length, 0x1p500);
      // Half of the length must be above zero.
      length = std::max({length, highest, 8 * std::numeric_limits<double>::denorm_min()});
      made_.options.box.push_back(length);
      made_.options.box_origin.push_back(corner);
      // Moves points to the borders and to quarters of the length, where T can represent these places.
      each_row([&](std::vector<T>& row) {
        if (!random_.chance(0.2)) return;
        const auto to = static_cast<T>(corner + length * random_.pick<double>({0, 0.25, 0.5, 0.75, 1}));
        if (number(to) >= corner && number(to) - corner <= length) row[dim] = to;
      });
      double lowest = std::numeric_limits<double>::infinity();
      each_row([&](const std::vector<T>& row) { lowest = std::min(lowest, number(row[dim])); });
      each_row([&](std::vector<T>& row) {
        if (number(row[dim]) - lowest > length) row[dim] = static_cast<T>(lowest);
      });
    }
    if (!origin) made_.options.box_origin.clear();
  }

  /// Makes a triclinic cell with the same scale in all columns. Moves all points into the cell. If rounding takes a
  /// point out of the cell, moves the point at least into the box around the cell.
  void make_cell() {
    made_.kind += "; cell";
    const double scale = std::exp2(static_cast<double>(random_.between(-40, 40)));
    std::vector<double>& cell = made_.options.box;
    for (;;) {
      cell.clear();
      for (std::size_t at = 0; at < 9; ++at) {
        const bool diagonal = at % 4 == 0;
        double number = diagonal ? random_.uniform(0.5, 2) : random_.uniform(-1.5, 1.5);
        if (random_.chance(0.3)) number = std::round(number * 4) / 4;
        if (!diagonal && random_.chance(0.3)) number = 0;
        cell.push_back(number * scale);
      }
      if (random_.chance(0.3)) {
        cell[1] = cell[2] = cell[5] = 0;  // gives the cell the form that simulations usually have
        cell[0] = std::max(std::abs(cell[0]), scale / 2);
        cell[4] = std::max(std::abs(cell[4]), scale / 2);
        cell[8] = std::max(std::abs(cell[8]), scale / 2);
      }
      if (height_of_cell() > 0.05 * scale) break;
    }
    if (random_.chance(0.4)) skew_cell();
    const double corner = random_.chance(0.5) ? 0 : scale * static_cast<double>(random_.between(-3, 3));
    if (corner != 0) made_.options.box_origin.assign(3, corner);
    each_row([&](std::vector<T>& row) {
      double fraction[3] = {};
      for (double& one : fraction)
        one = random_.chance(0.4) ? static_cast<double>(random_.between(0, 8)) / 8 : random_.uniform();
      for (std::size_t axis = 0; axis < 3; ++axis) {
        double low = corner;  // the corner of the box around the cell, summed as the public header says
        double length = 0;
        double place = corner;
        for (std::size_t vector = 0; vector < 3; ++vector) {
          const double number = cell[3 * vector + axis];
          place += fraction[vector] * number;
          low += std::min(number, 0.0);
          length += std::abs(number);
        }
        auto value = static_cast<T>(place);
        while (number(value) < low) value = std::nextafter(value, std::numeric_limits<T>::infinity());
        while (number(value) - low > length) value = std::nextafter(value, -std::numeric_limits<T>::infinity());
        row[axis] = value;
      }
    });
    if (random_.chance(0.3) && made_.points.size() > 2)
      for (std::size_t row = made_.points.size() / 2; row < made_.points.size(); ++row)
        made_.points[row] = made_.points[row / 2];
  }

  /// Replaces the vectors by longer vectors that span the same lattice, up to rounding. Changes the order of the
  /// vectors.
  void skew_cell() {
    made_.kind += "; long vectors";
    std::vector<double>& cell = made_.options.box;
    for (int step = 0; step < 3; ++step) {
      const std::int64_t to = random_.below(3);
      const std::int64_t from = (to + random_.between(1, 2)) % 3;
      const auto factor = static_cast<double>(random_.chance(0.7) ? random_.between(-2, 2) : random_.between(-15, 15));
      for (std::int64_t axis = 0; axis < 3; ++axis) cell[size(3 * to + axis)] += factor * cell[size(3 * from + axis)];
    }
    if (random_.chance(0.5)) std::rotate(cell.begin(), cell.begin() + 3, cell.end());
  }

  double height_of_cell() const {
    const std::vector<double>& cell = made_.options.box;
    const auto at = [&](std::size_t vector, std::size_t axis) { return cell[3 * (vector % 3) + axis % 3]; };
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t vector = 0; vector < 3; ++vector) {
      double area = 0;
      double volume = 0;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const double cross =
            at(vector + 1, axis + 1) * at(vector + 2, axis + 2) - at(vector + 1, axis + 2) * at(vector + 2, axis + 1);
        area += cross * cross;
        volume += at(vector, axis) * cross;
      }
      least = std::min(least, std::abs(volume) / std::sqrt(area));
    }
    return least;
  }

  /// Returns the distance of two random points. It is useful as a bin edge, because a pair is then exactly at the edge.
  double some_distance() {
    if (made_.points.size() < 2) return 1;
    const std::vector<T>& a = made_.points[size(random_.below(static_cast<std::int64_t>(made_.points.size())))];
    const std::vector<T>& b = made_.cross && !made_.others.empty()
                                  ? made_.others[size(random_.below(static_cast<std::int64_t>(made_.others.size())))]
                                  : made_.points[size(random_.below(static_cast<std::int64_t>(made_.points.size())))];
    double squares = 0;
    for (std::size_t dim = 0; dim < a.size(); ++dim) {
      double apart = std::abs(number(a[dim]) - number(b[dim]));
      if (made_.options.box.size() == a.size()) apart = std::min(apart, made_.options.box[dim] - apart);
      squares += apart * apart;
    }
    return std::sqrt(squares);
  }

  double half_of_box() const {
    // Returns half of the least height, up to rounding.
    if (made_.options.box.size() == 9) return half_of_cell(made_.options.box) * (1 - 0x1p-46);
    return *std::min_element(made_.options.box.begin(), made_.options.box.end()) / 2;
  }

  void make_bins() {
    PairHistogramBins& bins = made_.options.bins;
    double extent = 0;
    for (int trial = 0; trial < 12; ++trial) extent = std::max(extent, some_distance());
    if (!(extent > 0) || extent > 1e200) extent = 1;
    const std::int64_t count = random_.pick<std::int64_t>({1, 1, 2, 3, 7, 16, 33, 80, 100, 700});
    if (random_.chance(0.3)) make_edges(extent, count);
    else {
      bins.bins = count;
      const T coordinate = made_.points.empty() ? T{1} : made_.points[0][0];
      const T after = std::nextafter(coordinate, std::numeric_limits<T>::infinity());
      const double step =
          random_.chance(0.3) ? std::nextafter(extent, 1e300) - extent : number(after) - number(coordinate);
      const std::int64_t kind = random_.below(8);
      double reach = extent * random_.pick<double>({1, 1.01, 0.5, 0.1, 0.01, 2});
      if (kind == 0) reach = extent * 1e-8;
      if (kind == 1 || kind == 7) bins.bin_width = step * random_.pick<double>({0.01, 0.1, 0.5, 1, 2, 7});
      else if (kind == 2) bins.bin_width = some_distance();
      else if (kind == 3) bins.bin_width = some_distance() / static_cast<double>(random_.between(1, 20));
      else if (kind == 4) bins.bin_width = 0.1 * std::pow(10.0, std::round(std::log10(reach)));
      else bins.bin_width = reach / static_cast<double>(count);
      if (!(bins.bin_width > 0) || !std::isfinite(bins.bin_width * static_cast<double>(count))) bins.bin_width = extent;
      if (random_.chance(0.25)) {
        bins.cutoff =
            random_.chance(0.5) ? some_distance() : bins.bin_width * random_.uniform(0.5, static_cast<double>(count));
        if (random_.chance(0.3)) bins.cutoff = bins.bin_width * static_cast<double>(random_.between(1, count));
        if (!(bins.cutoff > 0) || !std::isfinite(bins.cutoff)) bins.cutoff = 0;
      }
    }
    if (made_.options.box.empty()) {
      if (bins.edges.empty() && random_.chance(0.4)) move_near_edges(bins.bin_width);
      return;
    }
    // The reach must be at most half of the box. Exactly half is the hardest case.
    const double half = half_of_box();
    const double begin = bins.edges.empty() ? 0 : bins.edges.front();
    if (!(begin < half)) bins.edges.front() = 0;  // applies only with edges; without edges bins begin at 0
    if (random_.chance(0.5) && bins.edges.empty()) bins.bin_width = half / static_cast<double>(count);
    if (!(bins.bin_width > 0) && bins.edges.empty()) bins.bin_width = half;
    const double reach = bins.edges.empty() ? bins.bin_width * static_cast<double>(bins.bins) : bins.edges.back();
    const bool cut = bins.cutoff > 0 && bins.cutoff <= half;
    if (!cut && (reach > half * (1 - 0x1p-50) || random_.chance(0.3))) bins.cutoff = half;
    if (bins.cutoff > half) bins.cutoff = half;
  }

  /// Moves points so that their distances from the first point are close to edges, where a filter cannot decide the
  /// pairs.
  void move_near_edges(double width) {
    made_.kind += "; near edges";
    const double least = random_.uniform(-53, -12);
    if (made_.points.empty()) return;
    const std::vector<T> first = made_.points.front();
    each_row([&](std::vector<T>& row) {
      if (random_.chance(0.3)) return;
      const double edge = width * static_cast<double>(random_.between(0, made_.options.bins.bins));
      const double off = random_.sign() * std::exp2(random_.uniform(least, -12)) * edge;
      const std::size_t along = size(random_.below(made_.columns));
      if (random_.chance(0.7)) row = first;
      row[along] = clamped(number(first[along]) + random_.sign() * (edge + off));
    });
  }

  void make_edges(double extent, std::int64_t count) {
    std::vector<double>& edges = made_.options.bins.edges;
    for (std::int64_t edge = 0; edge <= std::min<std::int64_t>(count, 60); ++edge) {
      const double at = random_.chance(0.6) ? some_distance() : extent * random_.uniform();
      edges.push_back(at);
      if (random_.chance(0.3)) edges.push_back(std::nextafter(at, 1e300));
      if (random_.chance(0.2) && at > 0) edges.push_back(std::nextafter(at, 0.0));
    }
    if (random_.chance(0.4)) edges.push_back(0);
    std::sort(edges.begin(), edges.end());
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    if (edges.size() < 2) edges.push_back(edges.back() + extent);
    if (random_.chance(0.2)) {
      made_.options.bins.cutoff = random_.chance(0.5)
                                      ? edges[size(random_.between(1, static_cast<std::int64_t>(edges.size()) - 1))]
                                      : extent * random_.uniform();
      if (!(made_.options.bins.cutoff > edges.front())) made_.options.bins.cutoff = 0;
    }
  }

  std::vector<T> weights(std::size_t n, std::int64_t kind) {
    constexpr std::array names = {"integers", "uniform", "spread", "one large", "cancelling", "tiny", "large"};
    made_.kind += std::string("; weights ") + names[size(kind)];
    std::vector<T> values;
    for (std::size_t row = 0; row < n; ++row) {
      double weight = 1;
      switch (kind) {
        case 0: weight = static_cast<double>(random_.between(-3, 3)); break;
        case 1: weight = random_.uniform(); break;
        case 2: weight = random_.sign() * std::pow(10.0, random_.uniform(-large_exponent<T>, large_exponent<T>)); break;
        case 3: weight = row == 0 ? random_.pick<double>({1e12, 1e20, 1e30}) : 1; break;
        case 4:
          weight =
              row % 2 == 0 ? random_.uniform(1, 2) : -number(values.back()) * (random_.chance(0.2) ? 1 - 0x1p-20 : 1);
          break;
        case 5: weight = std::pow(10.0, -large_exponent<T>) * random_.uniform(); break;
        default: weight = std::pow(10.0, large_exponent<T>) * random_.uniform(-1, 1); break;
      }
      values.push_back(static_cast<T>(weight));
    }
    return values;
  }

  Random random_;
  bool weighted_ = false;
  PairCase<T> made_;
};

}  // namespace

template <class T>
PairCase<T> make_pair_case(std::uint64_t seed, std::uint64_t number) {
  return Maker<T>(seed, number).make();
}

template PairCase<float> make_pair_case(std::uint64_t, std::uint64_t);
template PairCase<double> make_pair_case(std::uint64_t, std::uint64_t);

}  // namespace gradus::attack
