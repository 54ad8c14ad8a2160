// Benchmarks matrix multiplication.
#include "gradus/matmul.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/facts.hpp"
#include "bench/parse.hpp"
#include "bench/problem.hpp"
#include "bench/verify_room.hpp"
#include "core/evenly_spread.hpp"
#include "core/phases.hpp"
#include "core/philox.hpp"
#include "core/text.hpp"
#include "execution/request.hpp"
#include "matmul/cases.hpp"
#include "matmul/options.hpp"

namespace gradus::bench {

namespace {

using matmul_detail::Layout;
using matmul_detail::Problem;
using nlohmann::ordered_json;

constexpr std::string_view problem_name = "matmul";

struct Size {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
};

struct ProductAxes {
  std::vector<Size> sizes{{1024, 1024, 1024}};
  std::int64_t batch = 1;
  bool transpose_a = false;
  bool transpose_b = false;
  double alpha = 1;
  double beta = 0;
  std::uint64_t seed = 1;
};

// Maximum number of multiplications for the slow oracle. The oracle computes only some elements, which are spread over
// C.
constexpr double oracle_products = 2e7;

template <class T>
class Products : public Workload {
 public:
  Products(const Size& size, const ProductAxes& axes)
      : size_(size), axes_(axes), a_(axes.batch, size.m, size.k, axes.transpose_a ? Layout::columns : Layout::rows),
        b_(axes.batch, size.k, size.n, axes.transpose_b ? Layout::columns : Layout::rows),
        c_(axes.batch, size.m, size.n, Layout::rows) {
    fill(a_.elements(), 1);
    fill(b_.elements(), 2);
    start_again();
  }

  std::string title() const override {
    return fmt::format(
        "{}{} x {} x {} {}{}{}", axes_.batch > 1 ? fmt::format("{} times ", axes_.batch) : "", size_.m, size_.n,
        size_.k, execution::element_name<T>(),
        axes_.transpose_a   ? axes_.transpose_b ? ", A and B transposed" : ", A transposed"
        : axes_.transpose_b ? ", B transposed"
                            : "",
        axes_.alpha != 1 || axes_.beta != 0 ? fmt::format(", alpha {:g}, beta {:g}", axes_.alpha, axes_.beta) : "");
  }

  ordered_json facts() const override {
    return {{"m", size_.m},
            {"n", size_.n},
            {"k", size_.k},
            {"batch", axes_.batch},
            {"transpose_a", axes_.transpose_a},
            {"transpose_b", axes_.transpose_b},
            {"alpha", axes_.alpha},
            {"beta", axes_.beta},
            {"seed", axes_.seed},
            {"dtype", execution::element_name<T>()}};
  }

  core::Support support(std::string_view variant) const override {
    return core::find_variant(matmul_detail::variants(), variant, problem_name)
        .supports(problem().shape(), execution::this_machine());
  }

  std::string verify(std::vector<Row>& rows, const Reporter& report) override {
    report("verify", 0, std::ssize(rows));
    start_again();
    const std::vector<SampledElement> samples = sample_elements();
    for_each_sound(rows, "verify", report, [&](Row& row) {
      start_again();
      const PeakMemory memory;
      multiply(row);
      row.memory_bytes = memory.bytes();
      const auto& variant = core::find_variant(matmul_detail::variants(), row.variant, problem_name);
      for (const SampledElement& sample : samples) {
        const std::string wrong = matmul_detail::judge(c_.view()(sample.row, sample.column, sample.batch), sample.truth,
                                                       problem(), row.contract, variant.facts.accuracy);
        if (wrong.empty()) continue;
        mark_wrong(row,
                   fmt::format("element ({}, {}) of product {} {}", sample.row, sample.column, sample.batch, wrong));
        break;
      }
    });
    const std::int64_t all = axes_.batch * size_.m * size_.n;
    return std::ssize(samples) == all
               ? "all elements against the oracle"
               : fmt::format("{} elements, spread over the result, against the oracle", samples.size());
  }

  Sample run(const Row& row) override {
    const auto start = core::Clock::now();
    const MatmulResult<T> result = multiply(row);
    return sample_of(core::seconds_since(start), result.report.phases);
  }

  std::vector<Work> work(const Row& row) const override {
    constexpr auto rate = sizeof(T) == 4 ? &Ceilings::fma_f32_per_second : &Ceilings::fma_f64_per_second;
    const double bytes = static_cast<double>(axes_.batch) * sizeof(T) *
                         static_cast<double>(size_.m * size_.k + size_.k * size_.n + size_.m * size_.n);
    return {{rate, problem().shape().operations(), row.seconds.median},
            {&Ceilings::read_bytes_per_second, bytes, row.seconds.median}};
  }

  std::vector<Figure> figures(const Row& row) const override {
    double there = 0;  // seconds of the computation on the GPU, without transfers
    for (const Phase& phase : row.phases)
      if (phase.name == "pack" || phase.name == "multiply") there += phase.seconds;
    const auto rate = [&](const char* key, const char* heading, double seconds) {
      const double gflops = 2 * problem().shape().operations() / seconds / 1e9;
      return Figure{key, gflops, heading, fmt::format("{:.1f}", gflops)};
    };
    return {rate("gflops", "GFLOP/s", row.seconds.median),
            rate("gflops_there", "without copies", row.on_gpu && there > 0 ? there : row.seconds.median)};
  }

 private:
  struct SampledElement {
    std::int64_t batch, row, column;
    matmul_detail::Element<T> truth;
  };

  void fill(std::vector<T>& elements, std::uint64_t stream) const {
    const core::Philox random(axes_.seed, stream);
#pragma omp parallel for
    for (std::size_t index = 0; index < elements.size(); ++index)
      elements[index] = static_cast<T>(2 * random.uniform(index) - 1);
  }

  void start_again() { fill(c_.elements(), 3); }

  Problem<T> problem() const {
    return matmul_detail::problem_of<T>(a_.view(), b_.view(), const_cast<Products*>(this)->c_.view(), axes_.alpha,
                                        axes_.beta);
  }

  /// Returns some elements of C, with their expected values.
  std::vector<SampledElement> sample_elements() {
    const Problem<T> of = problem();
    const std::int64_t all = axes_.batch * size_.m * size_.n;
    const auto count = static_cast<std::int64_t>(
        std::min(static_cast<double>(all), std::max(oracle_products / static_cast<double>(size_.k + 1), 256.0)));
    std::vector<SampledElement> samples;
    for (std::int64_t index = 0; index < count; ++index) {
      const std::int64_t at = core::evenly_spread(index, count, all);
      SampledElement sample{at / (size_.m * size_.n), at / size_.n % size_.m, at % size_.n, {}};
      sample.truth =
          true_element(of, sample.batch, sample.row, sample.column, c_.view()(sample.row, sample.column, sample.batch));
      samples.push_back(sample);
    }
    return samples;
  }

  MatmulResult<T> multiply(const Row& row) {
    MatmulOptions options;
    options.alpha = axes_.alpha;
    options.beta = axes_.beta;
    return matmul(a_.view(), b_.view(), options, MatmulMemory<T>{c_.view()}, execution_of(row, {}));
  }

  Size size_;
  ProductAxes axes_;
  matmul_detail::LaidOut<T> a_;
  matmul_detail::LaidOut<T> b_;
  matmul_detail::LaidOut<T> c_;
};

class AllProducts : public Workloads {
 public:
  std::vector<Axis> axes() override {
    const auto factor = [](const char* name, const char* help, const char* initial, double& target) {
      return Axis{.name = name,
                  .letter = "",
                  .form = "X",
                  .help = help,
                  .initial = initial,
                  .parse = [&target](const std::string& label, const std::string& text) {
                    target = parse_real(label, text, std::numeric_limits<double>::lowest(),
                                        std::numeric_limits<double>::max());
                  }};
    };
    return {
        {.name = "size",
         .letter = "",
         .form = "N|MxNxK,...",
         .help = "sizes: N rows and columns of all matrices, or M x K times K x N elements",
         .initial = "1024",
         .parse =
             [this](const std::string& label, const std::string& text) {
               axes_.sizes.clear();
               for (const std::string& part : parse_list(label, text)) axes_.sizes.push_back(size_of(label, part));
             }},
        types_axis("types of the elements", {"f32", "f64"}, types_),
        {.name = "batch",
         .letter = "",
         .form = "N",
         .help = "number of products in the batch",
         .initial = "1",
         .parse = [this](
                      const std::string& label,
                      const std::string& text) { axes_.batch = parse_whole(label, text, 1, std::int64_t{1} << 30); }},
        yes_no_axis("transpose-a", "A is stored by columns instead of by rows", axes_.transpose_a),
        yes_no_axis("transpose-b", "B is stored by columns instead of by rows", axes_.transpose_b),
        factor("alpha", "factor of the product", "1", axes_.alpha),
        factor("beta", "factor of the initial C", "0", axes_.beta),
        seed_axis("seed of the random elements", axes_.seed),
    };
  }

  void prepare(const InputCallbacks&) override {}

  /// Multiplies the work by `share`. The work is proportional to the product of the three sizes.
  void scale(double share) override {
    const double by = std::cbrt(share);
    const auto shrink = [&](std::int64_t& size) {
      size = std::max(std::min<std::int64_t>(size, 8), static_cast<std::int64_t>(by * static_cast<double>(size)));
    };
    for (Size& size : axes_.sizes)
      for (std::int64_t* const of : {&size.m, &size.n, &size.k}) shrink(*of);
  }

  void for_each(const InputCallbacks& callbacks, const std::function<void(Workload&)>& use) override {
    for (const Size& size : axes_.sizes)
      for (const std::string& type : types_) {
        if (callbacks.progress)
          callbacks.progress({"make matrices", 0, 1, fmt::format("{} x {} x {}", size.m, size.n, size.k)});
        if (type == "f32") measure<float>(size, use);
        else measure<double>(size, use);
      }
  }

 private:
  /// Parses a shape: "1000" or "1000x20x300".
  static Size size_of(const std::string& label, const std::string& text) {
    std::vector<std::int64_t> sizes;
    std::string_view rest = text;
    for (bool more = true; more && sizes.size() < 3;) {
      const std::size_t end = rest.find('x');
      sizes.push_back(parse_whole(label, rest.substr(0, end), 1, std::int64_t{1} << 30));
      more = end != std::string_view::npos;
      rest.remove_prefix(more ? end + 1 : rest.size());
    }
    if (!rest.empty() || sizes.size() == 2)
      throw UsageError(fmt::format("{}: '{}' is neither one size, N, nor three, MxNxK", label, text));
    if (sizes.size() == 1) return {sizes[0], sizes[0], sizes[0]};
    return {sizes[0], sizes[1], sizes[2]};
  }

  template <class T>
  void measure(const Size& size, const std::function<void(Workload&)>& use) const {
    const auto area = [](std::int64_t rows, std::int64_t columns) {
      return static_cast<double>(rows) * static_cast<double>(columns);
    };
    const double bytes = (area(size.m, size.k) + area(size.k, size.n) + area(size.m, size.n)) * sizeof(T) *
                         static_cast<double>(axes_.batch);
    constexpr std::string_view way_out = "choose a smaller --size or --batch";
    constexpr double most = 9e18;
    if (bytes > most)
      throw Error(fmt::format("the matrices of {} x {} x {} take {:.2g} bytes, more than any memory; {}", size.m,
                              size.n, size.k, bytes, way_out));
    execution::check_memory(static_cast<std::uint64_t>(bytes), {}, way_out);
    std::optional<Products<T>> products;
    try {
      products.emplace(size, axes_);
    } catch (const std::bad_alloc&) {
      throw Error(fmt::format("there is no memory for the matrices of {} x {} x {}, {}; {}", size.m, size.n, size.k,
                              core::size_text(static_cast<std::uint64_t>(bytes)), way_out));
    }
    use(*products);
  }

  ProductAxes axes_;
  std::vector<std::string> types_{"f32"};
};

}  // namespace

extern const ProblemRow matmul_problem;
const ProblemRow matmul_problem{
    .name = problem_name,
    .summary = "matrix multiplication: C = alpha A B + beta C, with a stated bound of its error",
    .figures =
        "GFLOP/s: 2 M N K operations, of all products of a batch, over the time, in 10^9 per second; without copies: "
        "the same over the time between the copies to a GPU and back. fma: the same as a share of the multiply-add "
        "rate of the same number of threads; read: each matrix once, as a share of their read bandwidth.",
    .ladder = &matmul_detail::ladder,
    .options = core::option_rows<MatmulOptions>,
    .verify = verify_room<matmul_detail::Trial>,
    .cases = case_names_of<matmul_detail::Trial>,
    .workloads = []() -> std::unique_ptr<Workloads> { return std::make_unique<AllProducts>(); },
};

}  // namespace gradus::bench
