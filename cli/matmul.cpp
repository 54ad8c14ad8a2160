// `gradus matmul`: multiplies the matrices of two files by NumPy's shape rules and writes or prints the product.
#include "gradus/matmul.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>

#include "cli/command.hpp"
#include "cli/destination.hpp"
#include "cli/input.hpp"
#include "cli/output.hpp"
#include "cli/repeat.hpp"
#include "core/phases.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"
#include "cpu/threads.hpp"
#include "execution/request.hpp"
#include "execution/ways.hpp"
#include "files/npy.hpp"
#include "files/points.hpp"
#include "matmul/options.hpp"
#include "matmul/variants.hpp"

namespace gradus::cli {

namespace {

using Json = nlohmann::ordered_json;
using Sizes = std::vector<std::int64_t>;

constexpr std::string_view problem_name = "matmul";

struct Arguments {
  std::string a;
  std::string b;
  std::string added;
  std::string output;
  bool transpose_a = false;
  bool transpose_b = false;
  double beta = 1;
  files::ReadOptions reading;
  MatmulOptions options;  ///< contains all options except beta
};

std::string called(const std::string& path) { return path == "-" ? "standard input" : "'" + path + "'"; }

/// Formats a shape like a Python tuple.
std::string shape_text(std::span<const std::int64_t> shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

// ---- Shapes: the rules of numpy.matmul ----

/// The matrices of an input. The last two dimensions of the shape are rows and columns. The dimensions before these
/// enumerate the matrices of a batch. Strides are numbers of elements.
struct Stack {
  Sizes shape;
  Sizes strides;

  std::size_t batch_dimensions() const { return shape.size() - 2; }
  std::int64_t rows() const { return shape[shape.size() - 2]; }
  std::int64_t columns() const { return shape.back(); }
  std::int64_t row_stride() const { return strides[strides.size() - 2]; }
  std::int64_t column_stride() const { return strides.back(); }
  /// Returns the size of a batch dimension, or 1 if the dimension is missing. back = 0 is the last batch dimension.
  std::int64_t batch_size(std::size_t back) const {
    return back < batch_dimensions() ? shape[batch_dimensions() - 1 - back] : 1;
  }
  std::int64_t batch_stride(std::size_t back) const {
    return batch_size(back) == 1 ? 0 : strides[batch_dimensions() - 1 - back];
  }
};

/// Throws InputError for a scalar. Throws UsageError if there is nothing to transpose.
Stack stack_of(const files::Tensor& tensor, const std::string& path, bool is_left, bool transposed) {
  if (tensor.shape.empty())
    throw InputError(called(path) + ": a single number, of shape (); an array of one dimension or more is expected");
  Stack stack{tensor.shape, tensor.strides};
  if (stack.shape.size() == 1) {
    if (transposed)
      throw UsageError(
          fmt::format("--transpose-{} has no effect: {} has one dimension", is_left ? "a" : "b", called(path)));
    stack.shape.insert(is_left ? stack.shape.begin() : stack.shape.end(), 1);
    stack.strides.insert(is_left ? stack.strides.begin() : stack.strides.end(), is_left ? tensor.shape[0] : 1);
  }
  if (transposed) {
    std::swap(stack.shape.back(), stack.shape[stack.shape.size() - 2]);
    std::swap(stack.strides.back(), stack.strides[stack.strides.size() - 2]);
  }
  return stack;
}

/// A batch dimension. `size` is the number of products. The strides are, for each operand, the number of elements from
/// the matrix of one product to the matrix of the next product.
struct BatchDimension {
  std::int64_t size = 1;
  std::int64_t a_stride = 0;
  std::int64_t b_stride = 0;
};

struct Plan {
  Stack a;
  Stack b;
  Sizes shape;
  std::int64_t elements = 0;
  std::int64_t batch = 0;
  /// Outer batch dimensions. The library is called once for each combination of their indices.
  std::vector<BatchDimension> outer;
  BatchDimension inner;  ///< the batch dimension that a single call of the library processes

  std::int64_t m() const { return a.rows(); }
  std::int64_t n() const { return b.columns(); }
  std::int64_t k() const { return a.columns(); }
};

/// Throws InputError if the shapes do not match or if no memory can hold the result.
Plan plan_of(const Arguments& arguments, const files::Tensor& a, const files::Tensor& b) {
  Plan plan;
  plan.a = stack_of(a, arguments.a, true, arguments.transpose_a);
  plan.b = stack_of(b, arguments.b, false, arguments.transpose_b);
  const auto files = [&] {
    const auto one = [](const std::string& path, const files::Tensor& tensor, bool transposed) {
      return fmt::format("{} of shape {}{}", called(path), shape_text(tensor.shape), transposed ? " transposed" : "");
    };
    return one(arguments.a, a, arguments.transpose_a) + " and " + one(arguments.b, b, arguments.transpose_b);
  };
  if (plan.k() != plan.b.rows())
    throw InputError(fmt::format("{}: {} and {} do not fit; these numbers must be the same", files(),
                                 counted(plan.k(), "column"), counted(plan.b.rows(), "row")));

  // Goes from the last batch dimension to the first one. Merges a dimension with the next one if both operands have a
  // constant stride over the two dimensions.
  std::vector<BatchDimension> dimensions;
  for (std::size_t back = 0; back < std::max(plan.a.batch_dimensions(), plan.b.batch_dimensions()); ++back) {
    const std::int64_t a_size = plan.a.batch_size(back);
    const std::int64_t b_size = plan.b.batch_size(back);
    if (a_size != b_size && a_size != 1 && b_size != 1)
      throw InputError(fmt::format(
          "{}: batches of {} and {} matrices cannot be paired; these numbers must be the same, or one of them 1",
          files(), a_size, b_size));
    const BatchDimension next{a_size == 1 ? b_size : a_size, plan.a.batch_stride(back), plan.b.batch_stride(back)};
    plan.shape.insert(plan.shape.begin(), next.size);
    if (next.size == 1) continue;
    if (!dimensions.empty()) {
      BatchDimension& last = dimensions.back();
      if (next.a_stride == last.size * last.a_stride && next.b_stride == last.size * last.b_stride) {
        last.size *= next.size;
        continue;
      }
    }
    dimensions.push_back(next);
  }
  if (!dimensions.empty()) plan.inner = dimensions.front();
  if (dimensions.size() > 1) plan.outer.assign(dimensions.rbegin(), dimensions.rend() - 1);

  const std::size_t batch_dimensions = plan.shape.size();
  if (a.shape.size() > 1) plan.shape.push_back(plan.m());
  if (b.shape.size() > 1) plan.shape.push_back(plan.n());
  const bool empty = std::ranges::count(plan.shape, 0) > 0;
  std::int64_t bytes = 8;
  bool overflows = false;
  for (const std::int64_t size : plan.shape) overflows = __builtin_mul_overflow(bytes, size, &bytes) || overflows;
  plan.elements = empty ? 0 : bytes / 8;
  if (overflows)
    throw InputError(
        fmt::format("{}: the product, of shape {}, is more than 64 bits can address", files(), shape_text(plan.shape)));
  if (empty) plan.outer.clear();
  plan.batch = 1;
  for (std::size_t dim = 0; dim < batch_dimensions; ++dim) plan.batch *= plan.shape[dim];
  return plan;
}

/// Calls use(offset of A, offset of B, offset of C) for each call of the library that is needed.
template <class Use>
void for_calls(const Plan& plan, const Use& use) {
  std::int64_t calls = 1;
  for (const BatchDimension& dimension : plan.outer) calls *= dimension.size;
  for (std::int64_t call = 0; call < calls; ++call) {
    std::int64_t rest = call;
    std::int64_t a = 0;
    std::int64_t b = 0;
    for (std::size_t dim = plan.outer.size(); dim-- > 0; rest /= plan.outer[dim].size) {
      a += rest % plan.outer[dim].size * plan.outer[dim].a_stride;
      b += rest % plan.outer[dim].size * plan.outer[dim].b_stride;
    }
    use(a, b, call * plan.inner.size * plan.m() * plan.n());
  }
}

/// Returns the strides of the added matrix in each dimension of the result. Throws InputError if the matrix cannot be
/// broadcast to the result's shape.
Sizes spread_strides(const Arguments& arguments, const files::Tensor& added, const Plan& plan) {
  Sizes strides(plan.shape.size());
  bool fits = added.shape.size() <= plan.shape.size();
  for (std::size_t back = 1; fits && back <= added.shape.size(); ++back) {
    const std::int64_t size = added.shape[added.shape.size() - back];
    fits = size == 1 || size == plan.shape[plan.shape.size() - back];
    if (size != 1) strides[strides.size() - back] = added.strides[added.strides.size() - back];
  }
  if (!fits)
    throw InputError(
        fmt::format("{}: shape {} does not fit the product's, {}; it must be the same, or be spread over "
                    "it by dimensions of 1 or missing first ones",
                    called(arguments.added), shape_text(added.shape), shape_text(plan.shape)));
  return strides;
}

template <class T>
void spread(const files::Tensor& added, const Sizes& strides, const Plan& plan, Buffer<T>& to,
            const std::stop_token& stop) {
  const T* const from = std::get<files::PointsOf<T>>(added.values).view.data();
  const std::int64_t columns = plan.shape.empty() ? 1 : plan.shape.back();
  const std::int64_t step = plan.shape.empty() ? 0 : strides.back();
  for (std::int64_t first = 0; first < plan.elements; first += columns) {
    std::int64_t rest = first / columns;
    std::int64_t place = 0;
    for (std::size_t dim = plan.shape.empty() ? 0 : plan.shape.size() - 1; dim-- > 0; rest /= plan.shape[dim])
      place += rest % plan.shape[dim] * strides[dim];
    for (std::int64_t begin = 0; begin < columns; begin += core::operations_between_polls) {
      core::honour_stop(stop, "stopped while copying what is added to the product");
      const std::int64_t end = std::min(begin + core::operations_between_polls, columns);
      for (std::int64_t column = begin; column < end; ++column) to[first + column] = from[place + column * step];
    }
  }
}

// ---- The product ----

struct Outcome {
  RunReport report;
  MatmulError error;
};

template <class T>
Outcome multiply(const Plan& plan, const files::Tensor& a, const files::Tensor& b, Buffer<T>& product,
                 const MatmulOptions& options, const Execution& execution) {
  const T* const a_data = std::get<files::PointsOf<T>>(a.values).view.data();
  const T* const b_data = std::get<files::PointsOf<T>>(b.values).view.data();
  Outcome outcome;
  if (plan.elements == 0) {  // nothing is computed, but a variant and a device are reported
    outcome.report = matmul(MatmulView<const T>(), MatmulView<const T>(), options, execution).report;
    return outcome;
  }
  for_calls(plan, [&](std::int64_t a_offset, std::int64_t b_offset, std::int64_t c_offset) {
    const MatmulView<const T> left(a_data + a_offset, plan.m(), plan.k(), plan.a.row_stride(), plan.a.column_stride());
    const MatmulView<const T> right(b_data + b_offset, plan.k(), plan.n(), plan.b.row_stride(), plan.b.column_stride());
    const MatmulView<T> result(product.data() + c_offset, plan.m(), plan.n(), plan.n(), 1);
    MatmulResult<T> one =
        matmul(left.batch(plan.inner.size, plan.inner.a_stride), right.batch(plan.inner.size, plan.inner.b_stride),
               options, {.product = result.batch(plan.inner.size, plan.m() * plan.n())}, execution);
    outcome.report.variant = std::move(one.report.variant);
    outcome.report.device = std::move(one.report.device);
    outcome.report.threads = std::max(outcome.report.threads, one.report.threads);
    for (const Phase& phase : one.report.phases) core::add_phase(outcome.report.phases, phase.name, phase.seconds);
    outcome.error.greatest = std::max(outcome.error.greatest, one.error.greatest);
    outcome.error.elements += one.error.elements;
  });
  return outcome;
}

/// The accuracy of the variant that ran: its name, and the factor of its error bound.
struct Accuracy {
  std::string_view name;
  double bound = 0;
};

template <class T>
Accuracy accuracy_of(const std::string& variant_name, std::int64_t depth) {
  const auto& variant = core::find_variant(matmul_detail::variants(), variant_name, problem_name);
  const MatmulAccuracy accuracy = variant.facts.accuracy;
  if (accuracy == MatmulAccuracy::strict && !(variant.contract == core::Contract::same_bits))
    return {"textbook", matmul_detail::textbook_bound<T>(depth)};
  return {to_string(accuracy), matmul_error_bound(accuracy, depth, sizeof(T))};
}

/// Returns the values as nested lists, one level per dimension.
template <class T>
Json json_of(std::span<const std::int64_t> shape, const T*& next) {
  if (shape.empty()) return *next++;
  Json values = Json::array();
  for (std::int64_t index = 0; index < shape[0]; ++index) values.push_back(json_of(shape.subspan(1), next));
  return values;
}

/// Returns the product as rows of text. If the product is a vector, each row holds one number. The matrices of a batch
/// follow one another.
template <class T>
MatrixView<const T> rows_of(const Plan& plan, const Buffer<T>& product) {
  if (plan.shape.size() < 2) return {product.data(), plan.elements, 1};
  return {product.data(), plan.shape.back() == 0 ? 0 : plan.elements / plan.shape.back(), plan.shape.back()};
}

template <class T>
void print_product(const Session& session, const Plan& plan, const Buffer<T>& product) {
  const MatrixView<const T> rows = rows_of(plan, product);
  if (plan.shape.size() < 3) return print_rows(session, rows);
  const std::int64_t of_one = plan.shape[plan.shape.size() - 2];
  for (std::int64_t first = 0; first < rows.rows(); first += of_one) {
    if (first > 0) session.print("\n");
    print_rows(session, rows.slice(first, of_one));
  }
}

template <class T>
void write_product(Destination& destination, const Plan& plan, const Buffer<T>& product, const Execution& execution) {
  if (destination.format() == TableFormat::npy) files::write_npy(destination.file(), plan.shape, product.data());
  else write_table(destination.file(), destination.format(), rows_of(plan, product), execution);
  destination.file().commit();
}

std::string closing_line(const Plan& plan, std::string_view dtype, double gflops, MatmulAccuracy permitted,
                         const Outcome& outcome, const Accuracy& accuracy, bool measured, double seconds) {
  // The text names both accuracies, because the variant that ran may be more accurate than the user required.
  std::string ran;
  if (permitted == MatmulAccuracy::split || permitted == MatmulAccuracy::fast) {
    const std::string_view asked = to_string(permitted);
    ran = accuracy.name == asked ? fmt::format("{}, ", asked) : fmt::format("{} instead of {}, ", accuracy.name, asked);
  }
  return fmt::format(
      "{}{} x {} by {} x {} ({}), {}{:.3g} s in all, {:.3g} GFLOP/s while multiplying, {}{}, {}",
      plan.batch == 1 ? "" : counted(plan.batch, "product") + " of ", plan.m(), plan.k(), plan.k(), plan.n(), dtype,
      measured
          ? fmt::format("error {:.2g} of |A| |B| at most, {:.2g} allowed, ", outcome.error.greatest, accuracy.bound)
          : "",
      seconds, gflops, ran, outcome.report.variant, counted(outcome.report.threads, "thread"));
}

/// If the job is large, prints the memory that it needs. Called before the job starts.
void tell_forecast(const Session& session, std::uint64_t memory, const Plan& plan) {
  constexpr std::uint64_t worth_a_word = std::uint64_t{1} << 30;
  if (memory < worth_a_word) return;
  session.note(fmt::format("a product of shape {}: about {} of memory beyond the inputs", shape_text(plan.shape),
                           core::size_text(memory)));
}

struct Inputs {
  files::Tensor a;
  files::Tensor b;
  std::optional<files::Tensor> added;
};

template <class T>
void check_factor(const char* name, double factor) {
  if (std::isinf(static_cast<T>(factor)) || (factor != 0 && static_cast<T>(factor) == 0))
    throw UsageError(
        fmt::format("{}: {} is beyond the range of {}", name, core::number_text(factor), execution::element_name<T>()));
}

template <class T>
int find_product(const Arguments& arguments, const Session& session, Inputs inputs, const Plan& plan,
                 const Sizes& strides_of_added, core::Clock::time_point start) {
  constexpr files::ElementType type = sizeof(T) == 4 ? files::ElementType::f32 : files::ElementType::f64;
  MatmulOptions options = arguments.options;
  // If the product has no elements, beta has no effect.
  options.beta = inputs.added && plan.elements > 0 ? arguments.beta : 0;
  check_factor<T>("--alpha", options.alpha);
  check_factor<T>("--beta", options.beta);
  // Memory for the inputs in this type, in addition to the memory for their files. A .npy file of this type needs no
  // additional memory.
  const std::uint64_t widened =
      inputs.a.bytes_as(type) + inputs.b.bytes_as(type) + (inputs.added ? inputs.added->bytes_as(type) : 0);
  const auto memory_with = [&](const MatmulOptions& wanted, const Execution& execution) {
    const MatmulShape shape{.rows = plan.m(),
                            .columns = plan.n(),
                            .depth = plan.k(),
                            .batches = plan.elements > 0 ? plan.inner.size : 0,
                            .element_bytes = sizeof(T),
                            .contiguous_result = true,
                            .place = {}};
    return matmul_memory(shape, wanted, execution).host + static_cast<std::uint64_t>(plan.elements) * sizeof(T) +
           widened;
  };
  const std::uint64_t forecast = memory_with(options, session.execution);
  execution::check_memory(forecast, session.execution);
  // Opens the file first. If the path is not writable, the command then fails before the long computation.
  Destination destination(arguments.output, session.execution.stop);
  if (destination.is_file()) {
    if (destination.format() == TableFormat::npy) {
      destination.file().expect(files::npy_size<T>(plan.shape));
    } else {
      if (plan.shape.size() > 2)
        throw UsageError(fmt::format("--output: a product of shape {} is more than a table; write it as .npy",
                                     shape_text(plan.shape)));
      destination.expect<T>(plan.elements, 1);
    }
  }
  const auto read_as = [&](files::Tensor& tensor, const std::string& path) {
    tensor = files::convert(std::move(tensor), type, path, session.execution.stop);
  };
  read_as(inputs.a, arguments.a);
  read_as(inputs.b, arguments.b);
  tell_forecast(session, forecast, plan);
  Buffer<T> product(plan.elements);
  if (inputs.added) {
    read_as(*inputs.added, arguments.added);
    spread(*inputs.added, strides_of_added, plan, product, session.execution.stop);
    inputs.added.reset();
  }
  const double read = core::seconds_since(start);

  const Outcome outcome = multiply(plan, inputs.a, inputs.b, product, options, session.execution);
  session.end_progress();
  const Accuracy accuracy = accuracy_of<T>(outcome.report.variant, plan.k());
  double multiply_seconds = 0;
  for (const Phase& phase : outcome.report.phases)
    multiply_seconds += phase.name == "total" ? phase.seconds : phase.name == "measure_error" ? -phase.seconds : 0;
  const double gflops = 2e-9 * static_cast<double>(plan.elements) * static_cast<double>(plan.k()) / multiply_seconds;

  const auto write_start = core::Clock::now();
  if (destination.is_file()) write_product(destination, plan, product, session.execution);
  const double written = core::seconds_since(write_start);
  const double seconds = core::seconds_since(start);
  constexpr std::string_view dtype = execution::element_name<T>();
  if (session.json) {
    Execution ran = session.execution;
    ran.variant = outcome.report.variant;
    MatmulOptions as_it_ran = options;
    as_it_ran.accuracy = MatmulAccuracy::automatic;
    Json names{arguments.a, arguments.b};
    if (!arguments.added.empty()) names.push_back(arguments.added);
    Json summary{{"problem", problem_name},
                 {"inputs", std::move(names)},
                 {"shape", plan.shape},
                 {"m", plan.m()},
                 {"n", plan.n()},
                 {"k", plan.k()},
                 {"batch", plan.batch},
                 {"transpose_a", arguments.transpose_a},
                 {"transpose_b", arguments.transpose_b},
                 {"alpha", options.alpha},
                 {"beta", arguments.added.empty() ? 0 : arguments.beta},
                 {"dtype", dtype},
                 {"variant", outcome.report.variant},
                 {"device", outcome.report.device},
                 {"threads", outcome.report.threads},
                 {"accuracy", accuracy.name},
                 {"error_bound", accuracy.bound}};
    if (options.measure_error)
      summary["measured_error"] = {{"greatest", outcome.error.greatest}, {"elements", outcome.error.elements}};
    if (!destination.is_file()) {
      const T* next = product.data();
      summary["product"] = json_of(std::span<const std::int64_t>(plan.shape), next);
    }
    add_record(summary, session, core::option_rows<MatmulOptions>, &options);
    summary.update({{"gflops", gflops},
                    {"memory_bytes", memory_with(as_it_ran, ran)},
                    {"seconds", seconds_of(read, "matmul", outcome.report.phases, written, seconds)}});
    session.print_json(summary);
    return 0;
  }
  if (!destination.is_file()) print_product(session, plan, product);
  session.note(closing_line(plan, dtype, gflops, options.accuracy, outcome, accuracy, options.measure_error, seconds) +
               (destination.is_file() ? fmt::format("; wrote '{}'", arguments.output) : ""));
  return 0;
}

Action setup_matmul(Options& options, Session& session) {
  auto arguments = std::make_shared<Arguments>();
  Options::required(options.file("A", arguments->a, "A",
                                 "the left matrix: .npy of any number of dimensions, .csv, .tsv; - for CSV on standard "
                                 "input"));
  Options::required(options.file("B", arguments->b, "B", "the right matrix, in the same formats"));
  add_table_output(options, arguments->output, "write the product there, .npy or .csv [text on standard output]");
  add_reading_options(options, session, arguments->reading);
  arguments->reading.names_matter = false;  // the columns of a matrix rarely have names

  options.heading("Product");
  options.flag("--transpose-a", arguments->transpose_a, "swap rows and columns of A");
  options.flag("--transpose-b", arguments->transpose_b, "swap rows and columns of B");
  const auto row = [&](std::string_view name) -> CLI::Option& {
    return options.row(*core::find_option(core::option_rows<MatmulOptions>, name), &arguments->options);
  };
  row("alpha");
  options.file(
      "--add", arguments->added, "FILE",
      "add this matrix, times --beta, to the product; it has the product's shape, or is broadcast by NumPy's rules");
  options.ineffective_if(options.real("--beta", arguments->beta, "factor of the matrix of --add"),
                         [arguments = arguments.get()] { return arguments->added.empty() ? "it needs --add" : ""; });
  row("accuracy");
  row("measure_error");
  return [arguments, &session] {
    const auto start = core::Clock::now();
    const std::vector<std::string> files{arguments->a, arguments->b, arguments->added};
    arguments->reading.threads = cpu::thread_count(session.execution);
    require_one_standard_input(files);
    require_table_for_header(arguments->reading, files);
    require_no_input_overwritten({arguments->output}, files);
    // Reads the inputs in the types of their files. An error about their shapes is then reported before any conversion.
    files::ReadOptions reading = arguments->reading;
    reading.type.reset();
    Inputs inputs{files::read_tensor(arguments->a, reading), files::read_tensor(arguments->b, reading), {}};
    files::ElementType type = std::max(inputs.a.type(), inputs.b.type());
    const Plan plan = plan_of(*arguments, inputs.a, inputs.b);
    Sizes strides_of_added;
    if (!arguments->added.empty()) {
      inputs.added = files::read_tensor(arguments->added, reading);
      strides_of_added = spread_strides(*arguments, *inputs.added, plan);
      type = std::max(type, inputs.added->type());
    }
    if (arguments->reading.type) type = *arguments->reading.type;
    return type == files::ElementType::f32
               ? find_product<float>(*arguments, session, std::move(inputs), plan, strides_of_added, start)
               : find_product<double>(*arguments, session, std::move(inputs), plan, strides_of_added, start);
  };
}

}  // namespace

ProblemCommands matmul_commands();
ProblemCommands matmul_commands() {
  return {.commands = {{"matmul",
                        "multiply matrices, with a stated bound on the rounding error",
                        "gradus matmul a.npy b.npy -o product.npy\n"
                        "gradus matmul a.npy a.npy --transpose-a --measure-error -o squares.npy\n"
                        "gradus matmul a.npy b.npy --alpha 0.5 --add bias.npy -o layer.npy",
                        Common::job,
                        problem_name,
                        setup_matmul,
                        "gradus matmul a.npy b.npy -o product.npy",
                        "multiply two matrices",
                        {},
                        false,
                        true}},
          .examples = {{"verify", "gradus verify matmul --case 65x69x70 --threads 1,2"},
                       {"bench", "gradus bench matmul --size 1024,3000x16x500 --threads 1,2"}}};
}

}  // namespace gradus::cli
