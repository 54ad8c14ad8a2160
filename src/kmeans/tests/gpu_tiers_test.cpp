// Tests fits whose points do not fit the granted memory of a GPU. They must give the same bits as the CPU and as points
// on the GPU, and must not take more memory than granted. On a machine without a GPU, the tests are skipped with a
// message.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "cuda/registered.hpp"
#include "gradus/kmeans_stored.hpp"
#include "kmeans/points/gpu_points.hpp"
#include "kmeans/tests/ranks_job.hpp"
#include "kmeans/tests/stored_points.hpp"
#include "tests/on_gpu.hpp"

// The linker directs all allocations of GPU memory in this program to these functions, which count them.
namespace {

struct Count {
  std::mutex mutex;
  std::map<void*, std::size_t> sizes;
  std::size_t now = 0;
  std::size_t peak = 0;
};
Count& count() {
  static Count* const all = new Count;
  return *all;
}

}  // namespace

extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier): names that the linker defines
cudaError_t __real_cudaMalloc(void** address, std::size_t bytes);
cudaError_t __real_cudaFree(void* address);
cudaError_t __wrap_cudaMalloc(void** address, std::size_t bytes) {
  const cudaError_t error = __real_cudaMalloc(address, bytes);
  if (error != cudaSuccess) return error;
  const std::lock_guard lock(count().mutex);
  count().sizes[*address] = bytes;
  count().now += bytes;
  count().peak = std::max(count().peak, count().now);
  return error;
}
cudaError_t __wrap_cudaFree(void* address) {
  {
    const std::lock_guard lock(count().mutex);
    const auto found = count().sizes.find(address);
    if (found != count().sizes.end()) {
      count().now -= found->second;
      count().sizes.erase(found);
    }
  }
  return __real_cudaFree(address);
}
// NOLINTEND(bugprone-reserved-identifier)
}

namespace gradus::kmeans_detail {
namespace {

using tests::Data;
using tests::difference;
using tests::error_of;
using tests::make_job;
using tests::same_bits;

/// Runs a call and returns the largest amount of GPU memory that it allocates.
template <class Call>
std::size_t peak_of(const Call& call) {
  std::size_t before = 0;
  {
    const std::lock_guard lock(count().mutex);
    before = count().peak = count().now;
  }
  call();
  const std::lock_guard lock(count().mutex);
  return count().peak - before;
}

Execution on_processor() {
  Execution execution;
  execution.device = Device::cpu;
  execution.threads = 2;
  return execution;
}

Execution by_tensor(std::uint64_t limit) {
  Execution execution;
  execution.variant = "cuda_tensor";
  execution.gpu_memory_limit = limit;
  execution.threads = 2;
  return execution;
}

template <class T>
HostRowsJob host_rows_of(const tests::Job<T>& job) {
  const KMeansOptions& options = job.options;
  const bool has_sample = options.init == KMeansInit::kmeans_parallel;
  return {{.points = job.points.rows(),
           .dimensions = job.points.columns(),
           .clusters = options.clusters,
           .element_bytes = sizeof(T),
           .weighted = !job.weights.empty()},
          has_sample || options.init == KMeansInit::kmeans_plus_plus,
          has_sample,
          false};
}

/// Returns limits that force each tier, among them the least limit and limits that yield blocks of odd sizes.
template <class T>
std::vector<std::uint64_t> limits_of(const HostRowsJob& job) {
  const std::uint64_t least = least_gpu_bytes(job);
  std::vector<std::uint64_t> limits{least};
  // The largest limit below the memory of resident points.
  const std::uint64_t resident =
      kmeans_memory({job.shape.points, job.shape.dimensions, job.shape.element_bytes, job.shape.weighted},
                    {.clusters = job.shape.clusters}, by_tensor(0))
          .device;
  bool has_copy = false;
  bool has_odd = false;
  for (std::uint64_t limit = least + least / 4; limit < resident; limit += least / 7 + 1) {
    const GpuTierPlan plan = *plan_host_rows(job, limit);
    const bool is_new = (plan.tier == GpuTier::filter_copy && !std::exchange(has_copy, true)) ||
                        (plan.resident_blocks > 0 && plan.tier == GpuTier::streamed && plan.block_rows % 2 == 1 &&
                         !std::exchange(has_odd, true));
    if (is_new) limits.push_back(limit);
  }
  return limits;
}

template <class T>
class KMeansTiers : public tests::OnGpu {};
using Elements = testing::Types<float, double>;
TYPED_TEST_SUITE(KMeansTiers, Elements);

/// Runs a fit with each limit, and compares it with the CPU.
template <class T>
void check(const tests::Job<T>& job, const std::string& name) {
  const KMeansMemory<T> memory = job.memory(0, job.points.rows());
  const KMeansResult<T> truth = kmeans(job.points, job.options, memory, on_processor());
  const KMeansResult<T> resident = kmeans(job.points, job.options, memory, by_tensor(0));
  EXPECT_EQ(difference(truth, resident, 0, job.points.rows()), "") << name << ", resident";
  for (const std::uint64_t limit : limits_of<T>(host_rows_of(job))) {
    const GpuTierPlan plan = *plan_host_rows(host_rows_of(job), limit);
    const std::string where = name + ", limit " + std::to_string(limit) + ", " + std::to_string(plan.blocks) +
                              " blocks of " + std::to_string(plan.block_rows) + ", " +
                              std::to_string(plan.resident_blocks) + " stay";
    const std::size_t peak = peak_of([&] {
      EXPECT_EQ(difference(truth, kmeans(job.points, job.options, memory, by_tensor(limit)), 0, job.points.rows()), "")
          << where;
    });
    EXPECT_LE(peak, limit) << where;
    EXPECT_GT(peak, std::size_t{0}) << where;
  }
}

TYPED_TEST(KMeansTiers, fit_with_the_bits_of_the_processor) {
  using T = TypeParam;
  struct Row {
    tests::Size size;
    Data data;
  };
  // Few columns, rows without alignment, several chunks, wide tiles; duplicates, empty clusters and doubtful means.
  const Row rows[] = {{{20011, 24, 150}, Data::plain},      {{9973, 3, 40}, Data::duplicates},
                      {{6007, 130, 300}, Data::plain},      {{7919, 65, 33}, Data::wild},
                      {{15013, 16, 500}, Data::duplicates}, {{12007, 40, 129}, Data::ends}};
  int number = 0;
  for (const auto& [size, data] : rows)
    for (const KMeansInit init : {KMeansInit::random, KMeansInit::kmeans_plus_plus, KMeansInit::kmeans_parallel})
      for (const KMeansMetric metric : {KMeansMetric::euclidean, KMeansMetric::cosine})
        for (const bool weighted : {false, true}) {
          if (metric == KMeansMetric::cosine && data == Data::duplicates && size.d < 5) continue;  // rows of zeros
          tests::Job<T> job = make_job<T>(size.n, size.d, size.k, data, init, weighted);
          job.options.metric = metric;
          job.options.max_iterations = 12;
          if (metric == KMeansMetric::cosine)
            for (std::int64_t row = 0; row < size.n; ++row) job.points(row, 0) += 1;  // no row is zero
          check(job, std::to_string(number++));
        }
}

TYPED_TEST(KMeansTiers, fit_with_every_option) {
  using T = TypeParam;
  for (const tests::Change& change : tests::changes_of_options) {
    tests::Job<T> job = make_job<T>(8009, 24, 80, Data::plain, KMeansInit::given, true);
    job.given(0, 0) = 1;  // with the cosine metric, a row of zeros would have no direction
    change.make(job.options);
    check(job, change.name);
  }
}

/// Fits until nothing changes, so that the order of points and passes over few moved points are covered.
TYPED_TEST(KMeansTiers, fit_to_the_end) {
  using T = TypeParam;
  tests::Job<T> job = make_job<T>(30011, 20, 200, Data::plain, KMeansInit::random, false);
  job.options.tolerance = 0;
  check(job, "to the end");
  job.options.restarts = 3;
  job.options.max_iterations = 5;
  check(job, "restarts");
}

TYPED_TEST(KMeansTiers, predict_and_resume_the_same) {
  using T = TypeParam;
  const tests::Job<T> job = make_job<T>(20011, 24, 150, Data::plain, KMeansInit::random, true);
  const KMeansResult<T> fit = kmeans(job.points, job.options, {}, on_processor());
  const KMeansModel<T> model = kmeans_model(fit);
  const KMeansMemory<T> memory = job.memory(0, job.points.rows());
  const KMeansPrediction one = kmeans_predict(model, job.points.view(), memory, on_processor());
  for (const std::uint64_t limit : limits_of<T>(host_rows_of(job))) {
    const KMeansPrediction found = kmeans_predict(model, job.points.view(), memory, by_tensor(limit));
    EXPECT_TRUE(same_bits(one.labels.data(), found.labels.data(), job.points.rows())) << limit;
    EXPECT_TRUE(same_bits(&one.inertia, &found.inertia, 1)) << limit;
  }
}

TYPED_TEST(KMeansTiers, read_rows_with_gaps_pinned_rows_and_read_only_rows) {
  using T = TypeParam;
  const tests::Job<T> job = make_job<T>(20011, 24, 150, Data::plain, KMeansInit::random, false);
  const std::int64_t n = job.points.rows();
  const std::int64_t d = job.points.columns();
  const KMeansResult<T> truth = kmeans(job.points, job.options, {}, on_processor());
  const std::uint64_t limit = limits_of<T>(host_rows_of(job)).back();
  const auto check_rows = [&](MatrixView<const T> rows, const char* what) {
    EXPECT_EQ(difference(truth, kmeans(rows, job.options, KMeansMemory<T>{}, by_tensor(limit)), 0, n), "") << what;
  };
  Matrix<T> wide(n, d + 3);
  for (std::int64_t row = 0; row < n; ++row) std::copy_n(job.points.row(row), d, wide.row(row));
  check_rows({wide.data(), n, d, d + 3}, "rows with gaps");

  const auto bytes = static_cast<std::size_t>(n * d) * sizeof(T);
  void* pinned = nullptr;
  ASSERT_EQ(cudaMallocHost(&pinned, bytes), cudaSuccess);
  std::copy_n(job.points.data(), n * d, static_cast<T*>(pinned));
  check_rows({static_cast<const T*>(pinned), n, d}, "pinned by the caller");
  check_rows({static_cast<const T*>(pinned), n, d}, "the same again");
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);

  Matrix<T> copy = Matrix<T>::copy_of(job.points.view());
  ASSERT_EQ(cudaHostRegister(copy.data() + 100 * d, bytes / 2, cudaHostRegisterDefault), cudaSuccess);
  check_rows(std::as_const(copy).view(), "a part pinned by the caller");
  EXPECT_EQ(cudaHostUnregister(copy.data() + 100 * d), cudaSuccess) << "the caller's registration is still there";

  void* mapped = mmap(nullptr, bytes + sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  T* const rows = static_cast<T*>(mapped) + 1;  // not aligned to 16 bytes
  std::copy_n(job.points.data(), n * d, rows);
  ASSERT_EQ(mprotect(mapped, bytes + sizeof(T), PROT_READ), 0);
  check_rows({rows, n, d}, "read-only");
  check_rows({rows, n, d}, "read-only again");
  munmap(mapped, bytes + sizeof(T));
}

TYPED_TEST(KMeansTiers, split_over_gpus) {
  using T = TypeParam;
  for (const KMeansInit init : {KMeansInit::random, KMeansInit::kmeans_parallel}) {
    const tests::Job<T> job = make_job<T>(40009, 24, 150, Data::plain, init, true);
    const KMeansMemory<T> memory = job.memory(0, job.points.rows());
    const KMeansResult<T> truth = kmeans(job.points, job.options, memory, on_processor());
    HostRowsJob of_half = host_rows_of(job);
    of_half.shape.points = 20480;
    of_half.on_ranks = true;
    Execution execution = by_tensor(least_gpu_bytes(of_half) * 3 / 2);
    execution.gpus = {0, 0};
    EXPECT_EQ(difference(truth, kmeans(job.points, job.options, memory, execution), 0, job.points.rows()), "");
  }
}

TYPED_TEST(KMeansTiers, name_the_least_limit) {
  using T = TypeParam;
  const tests::Job<T> job = make_job<T>(20011, 24, 150, Data::plain, KMeansInit::random, false);
  const std::uint64_t least = least_gpu_bytes(host_rows_of(job));
  const auto run = [&](std::uint64_t limit) { kmeans(job.points, job.options, KMeansMemory<T>{}, by_tensor(limit)); };
  const std::string message = error_of<OutOfMemoryError>([&] { run(least - 1); });
  EXPECT_TRUE(tests::contains(message, std::to_string(least) + " bytes")) << message;
  EXPECT_TRUE(tests::contains(message, "the limit allows only " + std::to_string(least - 1))) << message;
  EXPECT_NO_THROW(run(least));
  Matrix<T> bad = Matrix<T>::copy_of(job.points.view());
  bad(20010, 23) = std::numeric_limits<T>::infinity();
  const std::string invalid =
      error_of<InputError>([&] { kmeans(bad, job.options, KMeansMemory<T>{}, by_tensor(least)); });
  EXPECT_TRUE(tests::contains(invalid, "20010")) << invalid;
}

class StoredTiers : public tests::OnGpu {};

/// Points of 8 or 16 bits, and a fit to them.
struct StoredJob {
  StoredJob(StoredType type, tests::Size size, KMeansInit init, bool weighted)
      : points(type, size.n, size.d), wide(make_job<float>(size.n, size.d, size.k, Data::plain, init, weighted)) {
    wide.points = Matrix<float>::copy_of(points.wide.view());
    wide.options.max_iterations = 6;
    wide.given(0, 0) = 1;  // with the cosine metric, a row of zeros would have no direction
  }
  HostRowsJob host_rows() const {
    HostRowsJob job = host_rows_of(wide);
    job.shape.kept_bytes = bytes_of(points.type);
    return job;
  }
  KMeansMemory<float> memory() const { return wide.memory(0, points.wide.rows()); }

  tests::StoredPoints points;
  tests::Job<float> wide;
};

bool is_prime(std::int64_t number) {
  for (std::int64_t factor = 2; factor * factor <= number; ++factor)
    if (number % factor == 0) return false;
  return number > 1;
}

/// Returns limits that force each tier of stored points: the least limit of the tier `stored`, and limits with blocks
/// of odd and of prime sizes.
std::vector<std::uint64_t> limits_of(const StoredJob& job) {
  const HostRowsJob rows = job.host_rows();
  const std::uint64_t least = least_gpu_bytes(rows);
  const std::uint64_t least_stored = least_stored_bytes(rows);
  std::vector<std::uint64_t> limits{least, least_stored - 1, least_stored};
  const auto add_first = [&](const auto& is_wanted) {
    for (std::uint64_t limit = least_stored; limit < 8 * least_stored; limit += least / 97 + 1)
      if (const GpuTierPlan plan = *plan_host_rows(rows, limit); is_wanted(plan)) return limits.push_back(limit);
    ADD_FAILURE() << "no limit yields such blocks";
  };
  add_first([](const GpuTierPlan& plan) { return plan.resident_blocks > 0 && plan.block_rows % 2 == 1; });
  add_first([](const GpuTierPlan& plan) { return is_prime(plan.block_rows); });
  add_first([](const GpuTierPlan& plan) { return plan.resident_blocks == plan.blocks && plan.blocks > 1; });
  EXPECT_EQ(plan_host_rows(rows, least_stored)->tier, GpuTier::stored);
  EXPECT_NE(plan_host_rows(rows, least_stored - 1)->tier, GpuTier::stored);
  EXPECT_LT(plan_host_rows(rows, least_stored)->block_rows, rows.shape.points);
  return limits;
}

TEST_F(StoredTiers, fit_with_the_bits_of_float) {
  // Few columns, rows without alignment, several chunks, wide tiles.
  constexpr tests::Size sizes[] = {{9973, 24, 150}, {9973, 3, 40}, {6007, 130, 300}, {8009, 37, 129}};
  int number = 0;
  for (const StoredType type : tests::all_types)
    for (const KMeansInit init : tests::all_inits) {
      StoredJob job(type, sizes[number % 4], init, number % 3 == 1);
      if (number++ % 5 == 4) job.wide.options.metric = KMeansMetric::cosine;
      if (job.wide.options.metric == KMeansMetric::cosine && job.wide.points.columns() < 5) continue;  // rows of zeros
      const std::string name = std::string(to_string(type)) + ' ' + std::string(to_string(init));
      const KMeansOptions& options = job.wide.options;
      const KMeansResult<float> truth = kmeans(job.wide.points, options, job.memory(), on_processor());
      EXPECT_EQ(
          difference(truth, kmeans(job.points.view(), options, job.memory(), by_tensor(0)), 0, job.wide.points.rows()),
          "")
          << name;
      for (const std::uint64_t limit : limits_of(job)) {
        const std::size_t peak = peak_of([&] {
          EXPECT_EQ(difference(truth, kmeans(job.points.view(), options, job.memory(), by_tensor(limit)), 0,
                               job.wide.points.rows()),
                    "")
              << name << ", limit " << limit;
        });
        EXPECT_LE(peak, limit) << name;
      }
    }
}

TEST_F(StoredTiers, fit_with_every_option) {
  for (const tests::Change& change : tests::changes_of_options) {
    StoredJob job(StoredType::u8, {4001, 24, 80}, KMeansInit::kmeans_plus_plus, true);
    change.make(job.wide.options);
    const KMeansOptions& options = job.wide.options;
    const std::uint64_t limit = limits_of(job)[3];
    const KMeansResult<float> truth = kmeans(job.wide.points, options, job.memory(), on_processor());
    const KMeansResult<float> found = kmeans(job.points.view(), options, job.memory(), by_tensor(limit));
    EXPECT_EQ(difference(truth, found, 0, job.wide.points.rows()), "") << change.name;
  }
}

TEST_F(StoredTiers, are_split_over_gpus) {
  for (const KMeansInit init : {KMeansInit::random, KMeansInit::kmeans_plus_plus, KMeansInit::kmeans_parallel})
    for (const StoredType type : {StoredType::i8, StoredType::bf16}) {
      const StoredJob job(type, {20011, 37, 150}, init, type == StoredType::i8);
      const KMeansResult<float> truth = kmeans(job.wide.points, job.wide.options, job.memory(), on_processor());
      HostRowsJob of_half = job.host_rows();
      of_half.shape.points = 10240;
      of_half.on_ranks = true;
      for (const std::uint64_t limit :
           {least_stored_bytes(of_half), least_stored_bytes(of_half) + least_gpu_bytes(of_half) / 2}) {
        Execution execution = by_tensor(limit);
        execution.gpus = {0, 0};
        EXPECT_EQ(difference(truth, kmeans(job.points.view(), job.wide.options, job.memory(), execution), 0,
                             job.wide.points.rows()),
                  "")
            << limit;
      }
    }
}

TEST_F(StoredTiers, predict_the_same) {
  for (const StoredType type : tests::all_types) {
    const StoredJob job(type, {9973, 24, 150}, KMeansInit::random, true);
    const KMeansResult<float> fit = kmeans(job.wide.points, job.wide.options, {}, on_processor());
    const KMeansModel<float> model = kmeans_model(fit);
    const KMeansPrediction one = kmeans_predict(model, job.wide.points.view(), job.memory(), on_processor());
    for (const std::uint64_t limit : limits_of(job)) {
      const KMeansPrediction found = kmeans_predict(model, job.points.view(), job.memory(), by_tensor(limit));
      EXPECT_TRUE(same_bits(one.labels.data(), found.labels.data(), job.wide.points.rows())) << limit;
      EXPECT_TRUE(same_bits(&one.inertia, &found.inertia, 1)) << limit;
    }
  }
}

TEST_F(StoredTiers, are_estimated) {
  for (const StoredType type : {StoredType::u8, StoredType::bf16}) {
    const StoredJob job(type, {9973, 24, 150}, KMeansInit::kmeans_plus_plus, true);
    KMeansShape shape{9973, 24, bytes_of(type), true};
    for (const std::uint64_t limit : limits_of(job)) {
      const GpuTierPlan plan = *plan_host_rows(job.host_rows(), limit);
      EXPECT_EQ(kmeans_memory(shape, job.wide.options, by_tensor(limit)).device, plan.bytes) << limit;
      KMeansOptions cosine = job.wide.options;
      cosine.metric = KMeansMetric::cosine;
      EXPECT_EQ(kmeans_memory(shape, cosine, by_tensor(limit)).device,
                plan_host_rows(host_rows_of(job.wide), limit)->bytes)
          << limit;
    }
  }
}

TEST_F(StoredTiers, resume_in_another_tier) {
  StoredJob job(StoredType::f16, {9973, 24, 150}, KMeansInit::kmeans_plus_plus, false);
  KMeansOptions& options = job.wide.options;
  options.tolerance = 0;
  const KMeansResult<float> whole = kmeans(job.wide.points, options, job.memory(), on_processor());
  const std::vector<std::uint64_t> limits = limits_of(job);
  const std::string file = testing::TempDir() + "stored_tiers.npz";
  const std::pair<std::uint64_t, std::uint64_t> moves[] = {
      {limits[2], limits[0]}, {limits[0], limits[2]}, {limits[3], 0}, {0, limits[4]}};
  for (const auto& [first, second] : moves) {
    std::filesystem::remove(file);
    options.checkpoint = {.file = file, .iterations = 1};
    std::stop_source stop;
    Execution stopped = by_tensor(first);
    stopped.stop = stop.get_token();
    stopped.progress = [&](const Progress& progress) {
      if (progress.phase == "iteration" && progress.done == 2) stop.request_stop();
    };
    EXPECT_THROW(kmeans(job.points.view(), options, job.memory(), stopped), InterruptedError);
    options.checkpoint.resume = true;
    const KMeansResult<float> resumed = kmeans(job.points.view(), options, job.memory(), by_tensor(second));
    EXPECT_TRUE(resumed.resumed);
    EXPECT_TRUE(same_bits(whole.centroids, resumed.centroids)) << first << " then " << second;
    EXPECT_TRUE(same_bits(&whole.inertia, &resumed.inertia, 1)) << first << " then " << second;
  }
  std::filesystem::remove(file);
}

TEST_F(StoredTiers, refuse_numbers_that_are_not_finite) {
  for (const std::int64_t row : {0, 99, 9972}) {
    StoredJob job(StoredType::f16, {9973, 24, 150}, KMeansInit::random, false);
    job.points.bits[static_cast<std::size_t>(row * job.points.stride + 13)] = 0x7c01;
    const std::uint64_t limit = limits_of(job)[2];
    const std::string message =
        error_of<InputError>([&] { kmeans(job.points.view(), job.wide.options, {}, by_tensor(limit)); });
    EXPECT_TRUE(tests::contains(message, "row " + std::to_string(row) + ", column 13")) << message;
  }
}

class RegisteredMemoryTest : public tests::OnGpu {};
TEST_F(RegisteredMemoryTest, shares_pages) {
  // The driver pins whole pages. Pages that also hold other memory of the program would make copies of that memory
  // fail.
  constexpr std::size_t page = 65536;
  std::vector<unsigned char> room(100000 + 2 * page);
  const std::size_t skipped = page - reinterpret_cast<std::uintptr_t>(room.data()) % page;
  const std::span<unsigned char> bytes(room.data() + skipped, 100000);
  for (std::size_t index = 0; index < bytes.size(); ++index) bytes[index] = static_cast<unsigned char>(index * 7 % 251);
  const cuda::Stream stream;
  cuda::DeviceBuffer<unsigned char> there(static_cast<std::int64_t>(bytes.size()));
  const auto check_part = [&](const cuda::RegisteredMemory& memory, std::size_t first, std::size_t size) {
    ASSERT_FALSE(memory.empty());
    std::vector<unsigned char> back(size);
    memory.copy_to_gpu(there.data(), 0, size, stream);
    there.copy_to_host(back.data(), static_cast<std::int64_t>(size), stream);
    stream.wait();
    EXPECT_TRUE(std::equal(back.begin(), back.end(), bytes.begin() + static_cast<std::ptrdiff_t>(first)));
  };
  const cuda::RegisteredMemory none;
  EXPECT_TRUE(none.empty());
  auto first = cuda::RegisteredMemory(bytes.data(), 50001);
  check_part(first, 0, 50001);
  cuda::RegisteredMemory second(bytes.data() + 50001, 49999);
  check_part(second, 50001, 49999);
  const cuda::RegisteredMemory all(bytes.data(), bytes.size());
  check_part(all, 0, bytes.size());
  first = {};
  check_part(all, 0, bytes.size());
  check_part(second, 50001, 49999);
}

}  // namespace
}  // namespace gradus::kmeans_detail
