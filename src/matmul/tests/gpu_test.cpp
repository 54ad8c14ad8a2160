// Tests products of matrices in GPU memory, in any layout and together with matrices in host memory. Also tests that
// unsupported calls are refused, and tests every kernel of cuda_pipelined on a shape for which plan_of() chooses the
// kernel. Without a GPU, only the tests of plans run.
#include <array>
#include <cmath>
#include <limits>

#include "matmul/cases.hpp"
#include "matmul/gpu/operands.hpp"
#include "matmul/gpu/panel_plan.hpp"
#include "matmul/gpu/plan.hpp"
#include "tests/machine_with_gpu.hpp"
#include "tests/on_gpu.hpp"

namespace gradus::matmul_detail {
namespace {

using tests::contains;
using tests::error_of;

class matmul_gpu : public tests::OnGpu {};

Execution by(std::string_view variant) {
  Execution execution;
  execution.variant = variant;
  return execution;
}

/// A copy of matrices and of their padding on GPU 0. The copy begins `offset` elements after the start of an
/// allocation.
template <class T>
class OnDevice {
 public:
  explicit OnDevice(const LaidOut<T>& host, std::int64_t offset = 0)
      : host_(host), offset_(offset), memory_(offset + std::ssize(host.elements())) {
    const cuda::Stream stream;
    Buffer<T> all(memory_.size());
    std::fill_n(all.data(), offset, std::numeric_limits<T>::quiet_NaN());
    std::copy(host.elements().begin(), host.elements().end(), all.data() + offset);
    memory_.copy_from_host(all.data(), all.size(), stream);
    stream.wait();
  }

  MatmulView<T> view() {
    const MatmulView<const T> host = std::as_const(host_).view();
    return MatmulView<T>(memory_.data() + offset_ + (host.data() - host_.elements().data()), host.rows(),
                         host.columns(), host.row_stride(), host.column_stride(), tests::gpu_place)
        .batch(host.batches(), host.batch_stride());
  }
  LaidOut<T> read() const {
    Buffer<T> all(memory_.size());
    const cuda::Stream stream;
    memory_.copy_to_host(all.data(), all.size(), stream);
    stream.wait();
    LaidOut<T> copy = host_;
    std::copy(all.begin() + offset_, all.end(), copy.elements().begin());
    return copy;
  }

 private:
  LaidOut<T> host_;
  std::int64_t offset_;
  cuda::DeviceBuffer<T> memory_;
};

// ---------------------------------------------------------------------------------------------------------------------
// Views on a GPU

template <class T>
void check_case(const Case& data) {
  const PreparedCase<T> prepared(data.make(5));
  for (const std::int64_t offset : {0, 1}) {  // offset in elements from a multiple of 16 bytes
    OnDevice<T> a(prepared.a(), offset);
    OnDevice<T> b(prepared.b(), offset);
    for (const Variant& variant : variants()) {
      if (!variant.device_input || !variant.supports(prepared.shape(), execution::this_machine())) continue;
      const auto run = [&](MatmulView<const T> from_a, MatmulView<const T> from_b, MatmulView<T> to) {
        matmul(from_a, from_b, prepared.options(), MatmulMemory<T>{to}, by(variant.name));
      };
      const std::string name = data.name + " " + std::string(variant.name);
      OnDevice<T> all_there(prepared.c(), offset);
      run(a.view(), b.view(), all_there.view());
      EXPECT_EQ(prepared.fault_in(all_there.read(), variant), "") << name << ", all there";
      OnDevice<T> c_there(prepared.c(), offset);
      run(prepared.a().view(), prepared.b().view(), c_there.view());
      EXPECT_EQ(prepared.fault_in(c_there.read(), variant), "") << name << ", C there";
      LaidOut<T> c = prepared.c();
      run(a.view(), prepared.b().view(), c.view());
      EXPECT_EQ(prepared.fault_in(c, variant), "") << name << ", A there";
      c = prepared.c();
      run(prepared.a().view(), b.view(), c.view());
      EXPECT_EQ(prepared.fault_in(c, variant), "") << name << ", B there";
    }
  }
}

class DeviceMatrices : public tests::OnGpu, public testing::WithParamInterface<Case> {};
TEST_P(DeviceMatrices, float_equals_oracle) { check_case<float>(GetParam()); }
TEST_P(DeviceMatrices, double_equals_oracle) { check_case<double>(GetParam()); }
INSTANTIATE_TEST_SUITE_P(matmul, DeviceMatrices, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

/// Returns matrices whose elements use all bits of their type.
template <class T>
LaidOut<T> matrices(std::int64_t batches, std::int64_t rows, std::int64_t columns, Layout layout = Layout::rows) {
  LaidOut<T> made(batches, rows, columns, layout);
  std::uint64_t state = 88172645463325252ULL + static_cast<std::uint64_t>(rows * 31 + columns);
  for (T& element : made.elements()) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    element = static_cast<T>(static_cast<double>(state >> 11) * 0x1p-52 - 1);
  }
  return made;
}

template <class T>
bool same(const LaidOut<T>& one, const LaidOut<T>& other) {
  return tests::same_bits(one.elements().data(), other.elements().data(), std::ssize(other.elements()));
}

// The product runs on the GPU that holds the matrices, although the call does not name a device.
TEST_F(matmul_gpu, matrices_there_are_multiplied_there) {
  OnDevice<float> a(matrices<float>(1, 90, 300));
  OnDevice<float> b(matrices<float>(1, 300, 70));
  const auto result = matmul(a.view(), b.view());
  EXPECT_EQ(result.report.variant, "cuda_pipelined");
  EXPECT_EQ(result.report.device, execution::this_machine().gpus().front().name);
  const auto truth = matmul(matrices<float>(1, 90, 300).view(), matrices<float>(1, 300, 70).view());
  EXPECT_TRUE(tests::same_bits(result.product, truth.product));
}

TEST_F(matmul_gpu, work_in_the_stream_comes_first) {
  const Matrix<double> a = Matrix<double>::copy_of([] {
    static const LaidOut<double> made = matrices<double>(1, 200, 600);
    return MatrixView<const double>(made.elements().data(), 200, 600);
  }());
  const tests::LateOnDevice<double> late(a);
  const LaidOut<double> b = matrices<double>(1, 600, 30);
  const auto result = matmul(late.view(), b.view(), {}, late.execution());
  EXPECT_TRUE(tests::same_bits(result.product, matmul(a.view(), b.view()).product));
}

TEST_F(matmul_gpu, the_error_is_measured_there_too) {
  const LaidOut<float> a = matrices<float>(2, 30, 300, Layout::padded_columns);
  const LaidOut<float> b = matrices<float>(2, 300, 40, Layout::backwards);
  const LaidOut<float> before = matrices<float>(2, 30, 40, Layout::padded_rows);
  OnDevice<float> a_there(a);
  OnDevice<float> b_there(b);
  OnDevice<float> c_there(before);
  LaidOut<float> c = before;
  MatmulOptions options;
  options.beta = 0.5;
  options.measure_error = true;
  const MatmulError here = matmul(a.view(), b.view(), options, MatmulMemory<float>{c.view()}).error;
  const MatmulError there = matmul(a_there.view(), b_there.view(), options, MatmulMemory<float>{c_there.view()}).error;
  EXPECT_GT(there.greatest, 0);
  EXPECT_EQ(there.greatest, here.greatest);
  EXPECT_EQ(there.elements, 2 * 30 * 40);
  EXPECT_TRUE(same(c_there.read(), c));
}

// ---------------------------------------------------------------------------------------------------------------------
// The kernels of cuda_pipelined

struct Sizes {
  std::int64_t batches, m, n, k;
  Kernel kernel;
  std::int64_t slices;  ///< the expected Plan::slices
};

// plan_of() chooses the kernel by an estimate for a large GPU. Each shape names the expected kernel, so the table shows
// which kernel the shape tests.
constexpr Sizes shapes[] = {{300, 3, 5, 7, Kernel::cells, 0},       {40, 16, 16, 64, Kernel::cells, 0},
                            {1, 777, 1, 1000, Kernel::rows, 4},     {1, 40000, 1, 70, Kernel::rows, 0},
                            {1, 20011, 1, 1100, Kernel::rows, 5},   {500, 33, 1, 40, Kernel::rows, 0},
                            {1, 1, 1, 20000, Kernel::rows, 79},     {1, 1, 777, 1000, Kernel::columns, 4},
                            {300, 1, 129, 33, Kernel::columns, 0},  {1, 600, 9, 1030, Kernel::tall, 5},
                            {300, 130, 9, 100, Kernel::tall, 0},    {1, 9, 600, 1030, Kernel::wide, 5},
                            {300, 9, 130, 100, Kernel::wide, 0},    {1, 65, 129, 200, Kernel::small, 0},
                            {200, 32, 32, 32, Kernel::small, 0},    {132, 64, 64, 64, Kernel::medium, 0},
                            {1, 300, 300, 1200, Kernel::medium, 5}, {132, 128, 128, 40, Kernel::large, 0},
                            {1, 500, 500, 3100, Kernel::large, 13}};

template <class T>
Plan plan_of(const Sizes& sizes) {
  return plan_of(Shape{.batches = sizes.batches,
                       .m = sizes.m,
                       .n = sizes.n,
                       .k = sizes.k,
                       .element_bytes = static_cast<int>(sizeof(T))});
}

TEST(matmul_plan, shapes_are_tested_on_the_kernels_that_they_are_chosen_for) {
  for (const Sizes& sizes : shapes) {
    const Plan plan = plan_of<float>(sizes);
    EXPECT_EQ(plan.kernel, sizes.kernel) << sizes.m << " x " << sizes.n << " x " << sizes.k;
    EXPECT_EQ(plan.slices, sizes.slices) << sizes.m << " x " << sizes.n << " x " << sizes.k;
  }
}

// The estimated memory must suffice for three plans: for the product, for the transposed product, and for a batch that
// is joined to one product.
TEST(matmul_plan, sums_have_the_memory_that_was_estimated) {
  constexpr std::int64_t sizes[] = {1, 7, 16, 17, 100, 333, 1448, 5000};
  for (const int element_bytes : {4, 8})
    for (const std::int64_t m : sizes)
      for (const std::int64_t n : sizes)
        for (const std::int64_t k : {std::int64_t{100}, std::int64_t{257}, std::int64_t{5000}, std::int64_t{1} << 33})
          for (const std::int64_t batches : {1, 3}) {
            const Shape shape{.batches = batches, .m = m, .n = n, .k = k, .element_bytes = element_bytes};
            EXPECT_LE(sum_bytes(shape), std::uint64_t{100} << 20);
            Shape joined = shape;
            joined.batches = 1;
            joined.m *= batches;
            for (Shape one : {shape, joined}) {
              const Plan plan = plan_of(one);
              std::swap(one.m, one.n);
              const Plan transposed = plan_of(one);
              for (const std::int64_t slices : {plan.slices, transposed.slices}) {
                if (slices == 0) continue;
                EXPECT_GE(slices, 2);
                const std::int64_t parts = slices + (slices < blocks_of_k(shape) ? 1 : 0);
                EXPECT_GE(sum_bytes(shape), static_cast<std::uint64_t>(parts * batches * m * n * element_bytes));
              }
            }
          }
}

TEST(matmul_plan, a_gpu_is_used_where_it_is_asked_for_or_pays) {
  const execution::Machine untouchable = tests::machine_with_untouchable_gpus();
  const Shape small{.m = 256, .n = 256, .k = 256};
  const Shape large{.m = 16384, .n = 16384, .k = 16384};
  EXPECT_EQ(choose(small, untouchable, Device::automatic).name, "simd_packed");
  EXPECT_EQ(choose(large, untouchable, Device::cpu).name, "simd_packed");
  const execution::Machine machine = tests::machine_with_gpu();
  EXPECT_EQ(choose(small, machine, Device::gpu).name, "cuda_pipelined");
  EXPECT_EQ(choose(large, machine, Device::automatic).name, "cuda_pipelined");
  EXPECT_EQ(choose(large, execution::Machine(), Device::automatic).name, "simd_packed") << "where there is none";
  // Each matrix needs a third of the GPU's memory.
  const Shape too_large{.m = 110000, .n = 110000, .k = 110000, .bring = {.device = std::uint64_t{145} * 1000000000}};
  EXPECT_EQ(choose(too_large, machine, Device::automatic).name, "cuda_panels");
  // This job consists mostly of transfers, so the CPU would finish before the GPU.
  EXPECT_EQ(choose({.m = 60000, .n = 1, .k = 60000}, machine, Device::automatic).name, "simd_packed");
}

// Every plan must fit in the memory, and its blocks must cover all of C.
TEST(matmul_plan, panels_fit_the_memory_that_there_is) {
  const PanelNeeds needs{.working = [](const Shape& step) { return sum_bytes(step); }};
  for (const auto& [batches, m, n, k] : {std::array<std::int64_t, 4>{1, 32768, 32768, 32768},
                                         {1, 1, 70000, 1000},
                                         {1, 70000, 1, 1000},
                                         {10000, 32, 32, 32},
                                         {3, 129, 127, 100000}})
    for (const int element_bytes : {4, 8}) {
      const Shape shape{.batches = batches, .m = m, .n = n, .k = k, .element_bytes = element_bytes};
      const std::uint64_t least = least_panel_bytes(shape, needs);
      EXPECT_EQ(plan_panels(shape, needs, least / 4).rows, 0);
      double seconds = std::numeric_limits<double>::infinity();
      for (std::uint64_t most = least; most < std::uint64_t{1} << 40; most *= 3) {
        const PanelPlan plan = plan_panels(shape, needs, most);
        ASSERT_GT(plan.rows, 0) << m << " x " << n << " x " << k << " in " << most;
        EXPECT_LE(plan.bytes, most);
        EXPECT_LE(plan.seconds, seconds) << "more memory is no loss";
        seconds = plan.seconds;
        EXPECT_TRUE(plan.products == 1 || (plan.rows == m && plan.columns == n));
        EXPECT_GE(plan.a_places, 1);
        EXPECT_GE(plan.b_places, 1);
      }
    }
}

template <class T>
void check_shapes() {
  for (const Sizes& sizes : shapes)
    for (const Layout layout : {Layout::rows, Layout::padded_rows}) {  // with and without 16-byte vectors
      const LaidOut<T> a = matrices<T>(sizes.batches, sizes.m, sizes.k, layout);
      const LaidOut<T> b = matrices<T>(sizes.batches, sizes.k, sizes.n, layout);
      for (const double beta : {0.0, -0.75}) {
        LaidOut<T> right = matrices<T>(sizes.batches, sizes.m, sizes.n, layout);
        LaidOut<T> c = right;
        MatmulOptions options;
        options.alpha = 1.5;
        options.beta = beta;
        matmul(a.view(), b.view(), options, MatmulMemory<T>{right.view()}, by("simd_packed"));
        matmul(a.view(), b.view(), options, MatmulMemory<T>{c.view()}, by("cuda_pipelined"));
        EXPECT_TRUE(same(c, right)) << sizes.batches << " x " << sizes.m << " x " << sizes.n << " x " << sizes.k;
      }
    }
}

TEST_F(matmul_gpu, float_has_the_processors_bits_by_every_kernel) { check_shapes<float>(); }
TEST_F(matmul_gpu, double_has_the_processors_bits_by_every_kernel) { check_shapes<double>(); }

// ---------------------------------------------------------------------------------------------------------------------
// Packed operands, and panels

template <class T>
void check_large(std::string_view variant) {
  struct Large {
    std::int64_t batches, m, n, k;
    Layout of_b;
  };
  for (const Large& sizes : {Large{1, 1501, 1603, 1000, Layout::rows},
                             {2, 1700, 1400, 577, Layout::repeated},
                             {1, 1501, 1602, 1008, Layout::rows},  // the copy engine reads these doubles directly
                             {2, 1700, 1400, 576, Layout::repeated},
                             {3, 1290, 1030, 528, Layout::rows},
                             {1, 1600, 1537, 2000, Layout::padded_columns}}) {
    const LaidOut<T> a = matrices<T>(sizes.batches, sizes.m, sizes.k);
    const LaidOut<T> b = matrices<T>(sizes.batches, sizes.k, sizes.n, sizes.of_b);
    for (const double beta : {0.0, 2.5}) {
      LaidOut<T> right = matrices<T>(sizes.batches, sizes.m, sizes.n, Layout::padded_rows);
      LaidOut<T> c = right;
      MatmulOptions options;
      options.alpha = -0.5;
      options.beta = beta;
      matmul(a.view(), b.view(), options, MatmulMemory<T>{right.view()}, by("simd_packed"));
      matmul(a.view(), b.view(), options, MatmulMemory<T>{c.view()}, by(variant));
      EXPECT_TRUE(same(c, right)) << variant << " " << sizes.m << " x " << sizes.n << " x " << sizes.k;
    }
  }
}

TEST_F(matmul_gpu, large_products_of_float_have_the_processors_bits) { check_large<float>("cuda_pipelined"); }
TEST_F(matmul_gpu, large_products_of_double_have_the_processors_bits) {
  if (const Variant& tensor = core::find_variant(variants(), "cuda_tensor_f64", Room::name);
      tensor.supports({.m = 1, .n = 1, .k = 1, .element_bytes = 8}, execution::this_machine()))
    check_large<double>("cuda_tensor_f64");
  check_large<double>("cuda_pipelined");
}

template <class T>
void check_panels() {
  for (const Layout layout : {Layout::rows, Layout::columns, Layout::padded_rows, Layout::backwards, Layout::repeated})
    for (const std::int64_t batches : {1, 7}) {
      const LaidOut<T> a = matrices<T>(batches, 300, 1300, layout);
      const LaidOut<T> b = matrices<T>(batches, 1300, 400, layout == Layout::rows ? Layout::columns : layout);
      // A result must not have negative strides or elements that overlap.
      const Layout of_c = layout == Layout::repeated || layout == Layout::backwards ? Layout::padded_columns : layout;
      for (const double beta : {0.0, 0.75}) {
        LaidOut<T> right = matrices<T>(batches, 300, 400, of_c);
        const LaidOut<T> before = right;
        MatmulOptions options;
        options.beta = beta;
        matmul(a.view(), b.view(), options, MatmulMemory<T>{right.view()}, by("simd_packed"));
        for (const std::uint64_t mebibytes : {0, 12, 20, 60}) {
          LaidOut<T> c = before;
          Execution execution = by("cuda_panels");
          execution.gpu_memory_limit = mebibytes << 20;
          matmul(a.view(), b.view(), options, MatmulMemory<T>{c.view()}, execution);
          EXPECT_TRUE(same(c, right)) << static_cast<int>(layout) << ", " << batches << " products, beta " << beta
                                      << ", " << mebibytes << " MiB";
        }
      }
    }
}

TEST_F(matmul_gpu, float_panels_have_the_processors_bits_in_any_memory) { check_panels<float>(); }
TEST_F(matmul_gpu, double_panels_have_the_processors_bits_in_any_memory) { check_panels<double>(); }

// In the first case, the last panel is a single row or column. The rows of this panel are evenly spaced, but the rows
// of the whole matrix are not. In the second case, the products of a batch arrive one by one, and each product has
// contiguous columns.
template <class T>
void check_panels_that_lie_another_way() {
  const auto check = [](MatmulView<const T> a, MatmulView<const T> b, const char* what) {
    Execution execution = by("cuda_panels");
    const std::uint64_t least = matmul_memory({.rows = a.rows(),
                                               .columns = b.columns(),
                                               .depth = a.columns(),
                                               .batches = a.batches(),
                                               .element_bytes = sizeof(T)},
                                              {}, execution)
                                    .device;
    const auto right = matmul(a, b, {}, by("simd_packed"));
    for (const std::uint64_t limit : {std::uint64_t{0}, least, 2 * least}) {
      execution.gpu_memory_limit = limit;
      EXPECT_TRUE(tests::same_bits(matmul(a, b, {}, execution).product, right.product)) << what << ", " << limit;
    }
  };
  const LaidOut<T> a = matrices<T>(1, 257, 600, Layout::apart);
  const LaidOut<T> b = matrices<T>(1, 600, 300);
  check(a.view(), b.view(), "a row of A");
  const LaidOut<T> b_apart = matrices<T>(1, 600, 129, Layout::apart);
  check(a.view(), b_apart.view(), "a row of A and a column of B");
  constexpr std::int64_t distance = 300 * 400 + 100;
  const LaidOut<T> all = matrices<T>(1, 3, distance);
  const LaidOut<T> others = matrices<T>(3, 400, 200);
  const T* const elements = all.elements().data();
  check(MatmulView<const T>(elements, 300, 400, 1, 300).batch(3, distance), others.view(), "an A of the batch");
  check(others.view().transposed(), MatmulView<const T>(elements, 400, 300, 1, 400).batch(3, distance),
        "a B of the batch");
}

TEST_F(matmul_gpu, float_panels_may_lie_another_way_than_the_whole) { check_panels_that_lie_another_way<float>(); }
TEST_F(matmul_gpu, double_panels_may_lie_another_way_than_the_whole) { check_panels_that_lie_another_way<double>(); }

// ---------------------------------------------------------------------------------------------------------------------
// Accuracies of the tensor cores

/// Returns true if the GPU has the required tensor cores.
bool has_tensor_cores() {
  const Variant& split = core::find_variant(variants(), "cuda_tensor_split", Room::name);
  return static_cast<bool>(split.supports({.m = 1, .n = 1, .k = 1}, execution::this_machine()));
}

/// Computes a product with the variant and checks the error of a sample of its elements.
void check_accuracy(std::string_view name, const LaidOut<float>& a, const LaidOut<float>& b, std::string_view what) {
  const Variant& variant = core::find_variant(variants(), name, Room::name);
  const std::int64_t m = a.view().rows();
  const std::int64_t n = b.view().columns();
  LaidOut<float> c(1, m, n, Layout::rows);
  matmul(a.view(), b.view(), {}, MatmulMemory<float>{c.view()}, by(name));
  const Problem<float> problem = problem_of<float>(a.view(), b.view(), c.view(), 1, 0);
  for (std::int64_t index = 0; index<m * n; index += m * n> 40000 ? 97 : 1) {
    const std::string wrong =
        judge(c.view()(index / n, index % n), true_element(problem, 0, index / n, index % n, 0.0f), problem,
              variant.contract, variant.facts.accuracy);
    ASSERT_EQ(wrong, "") << name << ", " << what << ", element (" << index / n << ", " << index % n << ")";
  }
}

TEST_F(matmul_gpu, split_and_fast_keep_their_bounds_whatever_the_spread) {
  if (!has_tensor_cores()) GTEST_SKIP() << "the GPU has no tensor cores that serve";
  constexpr std::int64_t m = 150;
  constexpr std::int64_t n = 170;
  for (const std::int64_t k : {17, 63, 64, 65, 300, 1031})
    for (const std::string_view variant : {"cuda_tensor_split", "cuda_tensor_fast"}) {
      const LaidOut<float> a = matrices<float>(1, m, k);
      const LaidOut<float> b = matrices<float>(1, k, n);
      check_accuracy(variant, a, b, "as it is");
      const auto changed = [&](const LaidOut<float>& from, const auto& change) {
        LaidOut<float> to = from;
        for (std::int64_t row = 0; row < from.view().rows(); ++row)
          for (std::int64_t column = 0; column < from.view().columns(); ++column)
            change(to.view()(row, column), row, column);
        return to;
      };
      const auto by_row = [](float& value, std::int64_t row, std::int64_t) {
        value = std::ldexp(value, static_cast<int>(row % 7 * 30) - 90);
      };
      const auto by_column = [](float& value, std::int64_t, std::int64_t column) {
        value = std::ldexp(value, 90 - static_cast<int>(column % 7 * 30));
      };
      check_accuracy(variant, changed(a, by_row), changed(b, by_column), "rows and columns scaled");
      check_accuracy(variant, changed(a, by_column), changed(b, by_row), "along k scaled");
      const auto one_in = [](std::int64_t many, float factor) {
        return [=](float& value, std::int64_t row, std::int64_t column) {
          if ((row * 131 + column * 7) % many == 0) value *= factor;
        };
      };
      check_accuracy(variant, changed(a, one_in(911, 1e-12F)), b, "some tiny elements of A");
      check_accuracy(variant, a, changed(b, one_in(911, 1e12F)), "some great elements of B");
      check_accuracy(variant, changed(a, one_in(3, 0)), changed(b, one_in(2, 0)), "zeros");
      check_accuracy(variant, changed(a, one_in(1, 1e-30F)), changed(b, one_in(1, 1e-14F)),
                     "results without all digits");
      check_accuracy(variant, changed(a, one_in(1, 1e-41F)), b, "denormal numbers");
      check_accuracy(variant, changed(a, one_in(1, 2e38F)), changed(b, one_in(1, 1e-3F)), "near the greatest number");
      // The truncation error of a tensor core is largest in sums of one large term and many small terms of the same
      // sign.
      const auto great_and_small = [](float& value, std::int64_t, std::int64_t column) {
        value = column % 64 == 0 ? 1.9990234F : 0x1.ffcp-12F;
      };
      const auto ones = [](float& value, std::int64_t, std::int64_t) { value = 0x1.fffffep0F; };
      check_accuracy(variant, changed(a, great_and_small), changed(b, ones), "cut off");
      check_accuracy(variant, changed(a, ones), changed(b, ones), "as great as can be");
      constexpr float nan = std::numeric_limits<float>::quiet_NaN();
      constexpr float infinity = std::numeric_limits<float>::infinity();
      const auto unusual = [&](float special) {
        return [=](float& value, std::int64_t row, std::int64_t column) {
          if (row == 3 && column == 5) value = special;
        };
      };
      for (const float special : {nan, infinity, -infinity}) {
        check_accuracy(variant, changed(a, unusual(special)), b, "an unusual number in A");
        check_accuracy(variant, a, changed(b, unusual(special)), "an unusual number in B");
        check_accuracy(variant, changed(a, unusual(special)), changed(b, unusual(infinity)), "unusual numbers");
      }
    }
}

// If a row or column exceeds FP16's range, the elements of C that depend on it are computed with the accuracy `strict`.
// C is read only once.
TEST_F(matmul_gpu, odd_lines_of_split_are_strict) {
  if (!has_tensor_cores()) GTEST_SKIP() << "the GPU has no tensor cores that serve";
  LaidOut<float> a = matrices<float>(3, 400, 500);
  LaidOut<float> b = matrices<float>(3, 500, 300);
  a.view()(7, 11, 1) = 1e-20F;
  b.view()(13, 17, 2) = 1e-20F;
  b.view()(13, 17, 1) = 1e-20F;
  const LaidOut<float> before = matrices<float>(3, 400, 300);
  LaidOut<float> strict = before;
  LaidOut<float> split = before;
  MatmulOptions options;
  options.alpha = 1.25;
  options.beta = 0.5;
  matmul(a.view(), b.view(), options, MatmulMemory<float>{strict.view()}, by("simd_packed"));
  matmul(a.view(), b.view(), options, MatmulMemory<float>{split.view()}, by("cuda_tensor_split"));
  std::int64_t different = 0;
  for (std::int64_t batch = 0; batch < 3; ++batch)
    for (std::int64_t row = 0; row < 400; ++row)
      for (std::int64_t column = 0; column < 300; ++column) {
        const float right = strict.view()(row, column, batch);
        const float value = split.view()(row, column, batch);
        const bool is_odd = (batch == 1 && (row == 7 || column == 17)) || (batch == 2 && column == 17);
        if (is_odd) EXPECT_EQ(value, right) << row << ", " << column << " of " << batch;
        else different += value != right ? 1 : 0;
        EXPECT_NEAR(value, right, 1e-4) << row << ", " << column << " of " << batch;
      }
  EXPECT_GT(different, 1000) << "the others come from the tensor cores";
}

TEST_F(matmul_gpu, a_single_product_is_exact_in_split) {
  const LaidOut<float> a = [] {
    LaidOut<float> made(1, 1, 1, Layout::rows);
    made.elements()[0] = 1024.5F;
    return made;
  }();
  LaidOut<float> b = a;
  b.elements()[0] = 1;
  MatmulOptions options;
  options.accuracy = MatmulAccuracy::split;
  Execution execution;
  execution.device = Device::gpu;
  EXPECT_EQ(matmul(a.view(), b.view(), options, execution).product(0, 0), 1024.5F);
}

// ---------------------------------------------------------------------------------------------------------------------
// Memory, stop requests, refusals

TEST_F(matmul_gpu, no_more_memory_is_taken_than_estimated) {
  const LaidOut<float> a = matrices<float>(1, 300, 3000);
  const LaidOut<float> b = matrices<float>(1, 3000, 200, Layout::columns);
  const MatmulShape shape{.rows = 300, .columns = 200, .depth = 3000};
  Execution execution;
  execution.device = Device::gpu;
  execution.gpu_memory_limit = matmul_memory(shape, {}, execution).device;
  EXPECT_GE(execution.gpu_memory_limit, std::uint64_t{4} * (300 * 3000 + 3000 * 200 + 300 * 200));
  const auto truth = matmul(a.view(), b.view());
  EXPECT_TRUE(tests::same_bits(matmul(a.view(), b.view(), {}, execution).product, truth.product));
  execution.gpu_memory_limit = std::uint64_t{4} * (300 * 3000 + 3000 * 200);
  const std::string message = error_of<OutOfMemoryError>([&] { matmul(a.view(), b.view(), {}, execution); });
  EXPECT_TRUE(contains(message, "of the GPU's memory, but the limit allows only")) << message;
  // Matrices that are already on the GPU do not count towards the limit.
  OnDevice<float> a_there(a);
  OnDevice<float> b_there(matrices<float>(1, 3000, 200));
  OnDevice<float> c_there(matrices<float>(1, 300, 200));
  MatmulShape there = shape;
  there.place = tests::gpu_place;
  execution.variant = "cuda_warp_tiled";
  execution.gpu_memory_limit = 1;
  matmul(a_there.view(), b_there.view(), {}, MatmulMemory<float>{c_there.view()}, execution);
  execution.gpu_memory_limit = 0;
  EXPECT_GE(matmul_memory(there, {}, execution).device, std::uint64_t{4} * 3000 * 200);  // the call must transpose B
}

TEST_F(matmul_gpu, what_does_not_fit_passes_in_panels) {
  const LaidOut<float> a = matrices<float>(1, 2000, 300);
  const LaidOut<float> b = matrices<float>(1, 300, 2100);
  Execution execution;
  execution.device = Device::gpu;
  execution.gpu_memory_limit = std::uint64_t{12} << 20;
  const auto by_panels = matmul(a.view(), b.view(), {}, execution);
  EXPECT_EQ(by_panels.report.variant, "cuda_panels");
  EXPECT_TRUE(tests::same_bits(by_panels.product, matmul(a.view(), b.view()).product));
  // Both the copying thread and the computing thread must end, no matter which thread notices the stop request first.
  std::stop_source source;
  execution.stop = source.get_token();
  std::int64_t steps = 0;
  execution.progress = [&](const Progress& progress) {
    if (progress.phase == "multiply" && ++steps == 3) source.request_stop();
  };
  EXPECT_THROW(matmul(a.view(), b.view(), {}, execution), InterruptedError);
}

TEST_F(matmul_gpu, a_stop_request_is_honoured_there) {
  OnDevice<float> a(matrices<float>(1, 90, 300));
  OnDevice<float> b(matrices<float>(1, 300, 70));
  std::stop_source source;
  source.request_stop();
  for (const Variant& variant : variants()) {
    if (!variant.device_input || !variant.supports({}, execution::this_machine())) continue;
    Execution execution = by(variant.name);
    execution.stop = source.get_token();
    EXPECT_THROW(matmul(a.view(), b.view(), {}, execution), InterruptedError) << variant.name;
  }
}

TEST_F(matmul_gpu, requests_that_contradict_themselves_are_refused) {
  OnDevice<double> a(matrices<double>(1, 20, 30));
  const LaidOut<double> b = matrices<double>(1, 30, 10);
  Execution execution;
  execution.device = Device::cpu;
  std::string message = error_of<UnsupportedError>([&] { matmul(a.view(), b.view(), {}, execution); });
  EXPECT_TRUE(contains(message, "A: they are on GPU 0, but the CPU was asked for")) << message;
  execution.device = Device::gpu;
  execution.gpu = 1;
  message = error_of<UsageError>([&] { matmul(a.view(), b.view(), {}, execution); });
  EXPECT_TRUE(contains(message, "they are on GPU 0, but GPU 1 was asked for")) << message;
  for (const Variant& variant : variants()) {
    if (variant.device_input) continue;
    message = error_of<UnsupportedError>([&] { matmul(a.view(), b.view(), {}, by(variant.name)); });
    EXPECT_TRUE(contains(message, "needs A in host memory")) << message;
    EXPECT_TRUE(contains(message, "the variants that use them there: 'cuda_naive', ")) << message;
  }
  OnDevice<double> c(matrices<double>(1, 20, 10));
  const MatmulView<double> elsewhere(c.view().data(), 20, 10, 10, 1, MemoryPlace::on_gpu(1));
  message = error_of<UnsupportedError>([&] { matmul(a.view(), b.view(), {}, MatmulMemory<double>{elsewhere}); });
  EXPECT_TRUE(contains(message, "C: they are on GPU 1, but the job runs on GPU 0")) << message;
  // Only the CPU supports products of a float matrix and a double matrix: it converts the floats.
  OnDevice<float> narrow(matrices<float>(1, 20, 30));
  EXPECT_THROW(matmul(narrow.view(), b.view()), UnsupportedError);
}

TEST_F(matmul_gpu, a_view_that_lies_is_refused) {
  const LaidOut<float> host = matrices<float>(1, 30, 30);
  LaidOut<float> result = matrices<float>(1, 30, 30);
  OnDevice<float> there(host);
  const MatmulView<const float> lie(host.elements().data(), 30, 30, 30, 1, tests::gpu_place);
  const MatmulView<float> lie_of_c(result.elements().data(), 30, 30, 30, 1, tests::gpu_place);
  MatmulOptions nothing_to_add;
  nothing_to_add.alpha = 0;
  const auto expect_refusal = [](const char* what, const std::function<void()>& action) {
    const std::string message = error_of<UsageError>(action);
    EXPECT_TRUE(contains(message, std::string(what) + ": the view says that they are on GPU 0, but")) << message;
  };
  expect_refusal("A", [&] { matmul(lie, there.view()); });
  expect_refusal("B", [&] { matmul(there.view(), lie.transposed()); });
  expect_refusal("C", [&] { matmul(there.view(), there.view(), {}, MatmulMemory<float>{lie_of_c}); });
  expect_refusal("C", [&] { matmul(there.view(), there.view(), nothing_to_add, MatmulMemory<float>{lie_of_c}); });
}

}  // namespace
}  // namespace gradus::matmul_detail
