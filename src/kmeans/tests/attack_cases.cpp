#include "kmeans/tests/attack_cases.hpp"
#include "kmeans/tests/job.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace gradus::attack {

namespace {

constexpr double largest = 0x1p500;

template <class T>
T clamped(double value) {
  const double limit = sizeof(T) == 4 ? 1e37 : largest;
  return static_cast<T>(std::clamp(value, -limit, limit));
}

template <class T>
class Maker {
 public:
  Maker(std::uint64_t seed, std::uint64_t number) : random_(seed, number, sizeof(T) == 4 ? 1 : 2) {}

  KMeansCase<T> make() {
    choose_shape();
    if (random_.chance(0.12)) make_tame();
    else if (random_.chance(0.15)) make_near_bisectors();
    else make_awkward();
    make_options();
    made_.room = random_.chance(0.2) ? random_.between(1, 5) : 0;
    made_.own_labels = random_.chance(0.2);
    make_queries();
    if (random_.chance(0.01)) spoil();
    return std::move(made_);
  }

 private:
  std::size_t size(std::int64_t value) const { return static_cast<std::size_t>(value); }
  std::vector<T>& any_row() { return made_.points[size(random_.below(n_))]; }

  void choose_shape() {
    const double which = random_.uniform();
    n_ = which < 0.02  ? random_.between(1500, 5000)
         : which < 0.3 ? random_.between(60, 600)
         : which < 0.6 ? random_.between(10, 60)
                       : random_.between(1, 10);
    if (random_.chance(0.2)) n_ = random_.pick<std::int64_t>({1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129, 257});
    d_ = random_.chance(0.5)
             ? random_.between(1, 5)
             : random_.pick<std::int64_t>({1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 20, 31, 32, 33, 40, 63, 64, 65, 70});
    const double clusters = random_.uniform();
    k_ = clusters < 0.5 ? random_.between(1, 6) : clusters < 0.6 ? n_ : clusters < 0.65 ? 1 : random_.between(1, 80);
    k_ = std::min(k_, n_);
    if (random_.chance(0.015)) {  // some cases are so large that several threads share the rows
      n_ = random_.between(8193, 30000);
      d_ = random_.between(1, 3);
      k_ = random_.between(1, 6);
      return;
    }
    while (n_ * d_ * k_ > 200000) {  // limits the running time of the reference
      if (n_ > 600 && k_ < 20) n_ /= 2;
      else if (k_ > 4) k_ /= 2;
      else d_ = (d_ + 1) / 2;
    }
  }

  /// Makes groups of points that are far apart. Rounding in T then cannot change a label.
  void make_tame() {
    made_.tame = true;
    made_.kind = "tame";
    k_ = std::min<std::int64_t>(k_, 6);
    for (std::int64_t row = 0; row < n_; ++row) {
      made_.points.emplace_back(size(d_));
      for (T& value : made_.points.back())
        value = static_cast<T>(20 * static_cast<double>(row % k_) + random_.uniform(-1, 1));
    }
    made_.centroids.assign(made_.points.begin(), made_.points.begin() + k_);
    if (random_.chance(0.5))
      for (std::int64_t row = 0; row < n_; ++row) made_.weights.push_back(static_cast<T>(random_.uniform(0.5, 2)));
  }

  /// Makes points whose distances to their two nearest initial centroids are almost equal. A low-precision filter
  /// cannot decide the labels of such points.
  void make_near_bisectors() {
    made_.kind = "near bisectors";
    const double scale = random_.pick<double>({1, 1, 1, 1e-30, 1e30, 255});
    const double offset = random_.pick<double>({0, 0, 1, 1e3, 1e6}) * scale;
    const bool lattice = random_.chance(0.3);
    const auto coordinate = [&] {
      return offset + scale * (lattice ? static_cast<double>(random_.below(9)) : random_.uniform(-1, 1));
    };
    const auto rows = [&](std::int64_t count) {
      Rows<T> made(size(count), std::vector<T>(size(d_)));
      for (std::vector<T>& row : made)
        for (T& value : row) value = static_cast<T>(coordinate());
      return made;
    };
    made_.centroids = rows(k_);
    made_.points = rows(n_);
    const double least = random_.uniform(-55, -5);
    for (std::vector<T>& point : made_.points) {
      if (k_ < 2 || random_.chance(0.2)) continue;
      std::vector<std::pair<double, std::size_t>> by_distance;
      for (std::size_t cluster = 0; cluster < made_.centroids.size(); ++cluster) {
        double squares = 0;
        for (std::size_t dim = 0; dim < point.size(); ++dim)
          squares += std::pow(static_cast<double>(point[dim]) - static_cast<double>(made_.centroids[cluster][dim]), 2);
        by_distance.emplace_back(squares, cluster);
      }
      std::partial_sort(by_distance.begin(), by_distance.begin() + 2, by_distance.end());
      const std::vector<T>& a = made_.centroids[by_distance[0].second];
      const std::vector<T>& b = made_.centroids[by_distance[1].second];
      double between = 0;
      for (std::size_t dim = 0; dim < point.size(); ++dim)
        between += std::pow(static_cast<double>(b[dim]) - static_cast<double>(a[dim]), 2);
      if (between == 0) continue;
      // Moves the point onto the bisector of the two centroids, and then slightly away from it.
      const double step = (by_distance[1].first - by_distance[0].first) / (2 * between) +
                          random_.sign() * std::exp2(random_.uniform(least, -5));
      for (std::size_t dim = 0; dim < point.size(); ++dim)
        point[dim] = static_cast<T>(static_cast<double>(point[dim]) +
                                    step * (static_cast<double>(b[dim]) - static_cast<double>(a[dim])));
    }
    if (random_.chance(0.2)) make_weights();
    if (different_points() < k_) made_.centroids.resize(size(k_ = different_points()));
  }

  /// Returns how many points of positive weight are different.
  std::int64_t different_points() const {
    std::set<std::vector<T>> different;
    for (std::int64_t row = 0; row < n_; ++row)
      if (made_.weights.empty() || made_.weights[size(row)] > 0) different.insert(made_.points[size(row)]);
    return static_cast<std::int64_t>(different.size());
  }

  void make_awkward() {
    made_.points = columns(n_, made_.kind);
    disturb_rows();
    make_weights();
    // In most cases, chooses k so small that there are enough different points for the fit.
    if (!random_.chance(0.02)) k_ = std::min(k_, different_points());
    make_centroids();
  }

  Rows<T> columns(std::int64_t n, std::string& kind) {
    Rows<T> rows(size(n), std::vector<T>(size(d_)));
    const bool each_its_own = random_.chance(0.25);
    const bool scaled = random_.chance(0.35);
    ColumnKind<T> column(random_, scaled);
    for (std::int64_t dim = 0; dim < d_; ++dim) {
      if (dim > 0 && each_its_own) column = ColumnKind<T>(random_, scaled);
      if (dim < 3 && (dim == 0 || each_its_own)) kind += (dim > 0 ? ", " : "") + column.name();
      for (std::int64_t row = 0; row < n; ++row)
        rows[size(row)][size(dim)] = clamped<T>(static_cast<double>(column.draw(random_)));
    }
    return rows;
  }

  void disturb_rows() {
    if (random_.chance(0.1)) {
      made_.kind += "; duplicates";
      const std::int64_t different = random_.between(std::min(k_, n_), n_);
      for (std::int64_t row = different; row < n_; ++row)
        made_.points[size(row)] = made_.points[size(random_.below(different))];
    }
    if (random_.chance(0.1)) {
      made_.kind += "; opposite pairs";
      for (std::int64_t row = 0; row + 1 < n_; row += 2) {
        made_.points[size(row + 1)] = made_.points[size(row)];
        for (T& value : made_.points[size(row + 1)]) value = -value;
      }
      if (random_.chance(0.5))
        for (T& value : any_row())
          value = static_cast<T>(static_cast<double>(value) * std::pow(2.0, random_.between(-80, 1)));
    }
    if (random_.chance(0.12)) {
      made_.kind += "; outlier";
      const double far = random_.sign() * random_.pick<double>({1, 1e9, 1e20, std::pow(10.0, large_exponent<T>)});
      any_row()[size(random_.below(d_))] = clamped<T>(far);
    }
    if (random_.chance(0.1)) {
      made_.kind += "; offset";
      const double offset = random_.pick<double>({1e8, 1e15, 1, 1e-3, 0x1p52, 1e100});
      for (std::vector<T>& row : made_.points)
        for (T& value : row) value = clamped<T>(static_cast<double>(value) + offset);
    }
    if (random_.chance(0.05)) {
      made_.kind += "; negative zeros";
      for (std::vector<T>& row : made_.points)
        for (T& value : row)
          if (random_.chance(0.3)) value = static_cast<T>(-0.0);
    }
  }

  void make_weights() {
    const std::int64_t kind = random_.below(14);
    if (kind > 8) return;
    constexpr std::array names = {"equal",     "small integers", "uniform", "spread", "some zero",
                                  "one large", "powers",         "large",   "tiny"};
    made_.kind += std::string("; weights ") + names[size(kind)];
    const double base = random_.pick<double>({1, 1.0 / 3, 1e20, 1e-20});
    const double share = random_.pick<double>({0.5, 0.5, 0.05});
    for (std::int64_t row = 0; row < n_; ++row) {
      double weight = 1;
      switch (kind) {
        case 0: weight = base; break;
        case 1: weight = static_cast<double>(random_.below(4)); break;
        case 2: weight = random_.uniform(); break;
        case 3: weight = std::pow(10.0, random_.uniform(-30, 0)); break;
        case 4: weight = random_.chance(share) ? random_.uniform(0.5, 1) : 0; break;
        case 5: weight = row == n_ / 2 ? std::pow(10.0, random_.uniform(5, 30)) : random_.uniform(); break;
        case 6: weight = std::exp2(static_cast<double>(random_.between(-70, 0))); break;
        case 7: weight = std::pow(10.0, large_exponent<T> - 3 + random_.uniform()) * base / 1e20; break;
        default: weight = std::pow(10.0, -large_exponent<T>) * random_.uniform(); break;
      }
      made_.weights.push_back(clamped<T>(weight));
    }
    if (*std::max_element(made_.weights.begin(), made_.weights.end()) == 0) made_.weights[size(random_.below(n_))] = 1;
  }

  void make_centroids() {
    const std::int64_t kind = random_.below(10);
    constexpr std::array names = {"rows",      "rows", "rows",  "repeated rows", "neighbours of rows",
                                  "midpoints", "far",  "equal", "their own",     "one row and far"};
    made_.kind += std::string("; first ") + names[size(kind)];
    const std::vector<T> one = any_row();
    const double far = random_.pick<double>({10, 1e6, std::pow(10.0, large_exponent<T>)});
    const std::int64_t begin = random_.below(n_);
    const std::int64_t few = random_.between(1, k_);
    std::string ignored;
    if (kind == 8) {
      made_.centroids = columns(k_, ignored);
      return;
    }
    for (std::int64_t cluster = 0; cluster < k_; ++cluster) {
      std::vector<T> row = made_.points[size((begin + cluster) % n_)];
      switch (kind) {
        case 3: row = made_.points[size((begin + cluster % few) % n_)]; break;
        case 4:
          for (T& value : row) value = moved_by_steps(value, random_.between(-2, 2));
          break;
        case 5: {
          const std::vector<T>& other = any_row();
          for (std::size_t dim = 0; dim < row.size(); ++dim) row[dim] = row[dim] / 2 + other[dim] / 2;
          break;
        }
        case 6:
          for (T& value : row) value = clamped<T>(static_cast<double>(value) * far * random_.uniform());
          break;
        case 7: row = one; break;
        case 9:
          if (cluster > 0)
            for (T& value : row) value = clamped<T>(far * (1 + static_cast<double>(cluster)));
          break;
        default: break;
      }
      made_.centroids.push_back(row);
    }
  }

  void make_options() {
    KMeansJob<T>& options = made_.options;
    options.clusters = k_;
    options.init = KMeansInit::given;
    options.tolerance = random_.pick<double>({0, 0, 0, 1e-4, 1e-2, 0.5});
    options.changed_fraction = random_.pick<double>({0, 0, 0, 0.05, 0.3});
    options.max_iterations = static_cast<int>(random_.pick<std::int64_t>({1, 2, 3, 5, 8, 12}));
    if (n_ * d_ * k_ < 300 && random_.chance(0.3)) options.max_iterations = 60;
    options.seed = random_.next();
    if (made_.tame) return;
    options.empty = random_.chance(0.15)  ? KMeansEmptyCluster::keep
                    : random_.chance(0.1) ? KMeansEmptyCluster::error
                                          : KMeansEmptyCluster::relocate;
    if (random_.chance(0.15)) make_cosine();
    if (random_.chance(0.12)) {
      options.init = KMeansInit::first;
      made_.kind += " (ignored: the first rows)";
      made_.centroids.clear();
    } else if (random_.chance(0.08)) {
      options.init = random_.pick({KMeansInit::kmeans_plus_plus, KMeansInit::kmeans_parallel, KMeansInit::random});
      made_.kind += " (ignored: drawn)";
      made_.has_reference = false;
      made_.centroids.clear();
    }
    options.restarts = random_.chance(0.05) ? 2 : 1;
    if (random_.chance(0.7)) accept_coinciding_points(options);
  }

  void make_cosine() {
    made_.kind += "; cosine";
    made_.options.metric = KMeansMetric::cosine;
    const double scale = random_.pick<double>({1, 1, 1e-165, 1e140, 1e-40, 1e25});
    const auto scaled = [&](Rows<T>& rows) {
      for (std::vector<T>& row : rows) {
        const double own = random_.chance(0.3) ? random_.uniform(0.1, 10) : 1;
        for (T& value : row) value = clamped<T>(static_cast<double>(value) * scale * own);
        const bool zero = std::all_of(row.begin(), row.end(), [](T value) { return value == 0; });
        if (zero && !random_.chance(0.001)) row[size(random_.below(d_))] = static_cast<T>(random_.sign());
      }
    };
    scaled(made_.points);
    scaled(made_.centroids);
  }

  /// Changes a value so that the case must be rejected.
  void spoil() {
    made_.kind += "; spoilt";
    const auto bad = [this] {
      return random_.pick<T>({std::numeric_limits<T>::quiet_NaN(), -std::numeric_limits<T>::infinity(),
                              static_cast<T>(sizeof(T) == 4 ? std::numeric_limits<double>::infinity() : 2 * largest)});
    };
    const std::int64_t where = random_.below(3);
    if (where == 0 && !made_.weights.empty())
      made_.weights[size(random_.below(n_))] = random_.chance(0.5) ? bad() : static_cast<T>(-1e-30);
    else if (where == 1 && !made_.centroids.empty()) made_.centroids[size(random_.below(k_))][0] = bad();
    else any_row()[size(random_.below(d_))] = bad();
  }

  void make_queries() {
    std::string ignored;
    if (random_.chance(0.5)) made_.queries = made_.points;
    else made_.queries = columns(random_.between(1, std::min<std::int64_t>(n_ + 5, 100)), ignored);
    if (made_.queries.size() > 100) made_.queries.resize(100);
    if (made_.options.metric == KMeansMetric::cosine)
      for (std::vector<T>& row : made_.queries)
        if (std::all_of(row.begin(), row.end(), [](T value) { return value == 0; })) row[0] = 1;
  }

  Random random_;
  std::int64_t n_ = 1;
  std::int64_t d_ = 1;
  std::int64_t k_ = 1;
  KMeansCase<T> made_;
};

}  // namespace

template <class T>
KMeansCase<T> make_kmeans_case(std::uint64_t seed, std::uint64_t number) {
  return Maker<T>(seed, number).make();
}

template KMeansCase<float> make_kmeans_case(std::uint64_t, std::uint64_t);
template KMeansCase<double> make_kmeans_case(std::uint64_t, std::uint64_t);

}  // namespace gradus::attack
