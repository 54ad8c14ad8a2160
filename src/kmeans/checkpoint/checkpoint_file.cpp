#include "kmeans/checkpoint/checkpoint_file.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <system_error>
#include <utility>

#include "core/atomic_file.hpp"
#include "core/text.hpp"
#include "cpu/row_hash.hpp"
#include "cpu/threads.hpp"
#include "kmeans/checkpoint/restart_limit.hpp"
#include "kmeans/points/gpu_source.hpp"
#include "ranks/same_call.hpp"

namespace gradus::kmeans_detail {

namespace {

constexpr int format = 1;

// Identity of the job

/// Returns the sum of the hashes of all rows. The division of the rows among the ranks does not affect the sum.
template <class T>
std::uint64_t hash_of(MatrixView<const T> rows, const char* what, std::int64_t first, const Execution& execution) {
  if (!rows.place().is_host()) {
    std::uint64_t total = 0;
    constexpr std::int64_t piece_bytes = std::int64_t{1} << 26;
    const std::int64_t most =
        std::max<std::int64_t>(1, piece_bytes / (rows.columns() * static_cast<std::int64_t>(sizeof(T))));
    for (std::int64_t row = 0; row < rows.rows(); row += most) {
      const Matrix<T> some = copy_of_gpu_rows(rows.slice(row, std::min(most, rows.rows() - row)), what, execution);
      total += hash_of(some.view(), what, first + row, execution);
    }
    return total;
  }
  return cpu::hash_of_rows(rows, first, cpu::thread_count(execution), execution.stop);
}

// Arrays of the file

template <class T>
void add_vector(core::NpzContent& content, std::string_view name, std::span<const T> values) {
  content.add(name, std::array{static_cast<std::int64_t>(values.size())}, values.data());
}

template <class T>
void add_matrix(core::NpzContent& content, std::string_view name, MatrixView<const T> rows) {
  content.add(name, std::array{rows.rows(), rows.columns()}, rows.data());
}

constexpr std::int64_t figures = 3;  ///< number of floating-point numbers recorded per iteration

void add_history(core::NpzContent& content, const std::string& prefix, std::span<const KMeansIteration> history) {
  std::vector<double> real;
  std::vector<std::int64_t> changed;
  for (const KMeansIteration& iteration : history) {
    real.insert(real.end(), {iteration.inertia, iteration.shift, iteration.seconds});
    changed.push_back(iteration.changed);
  }
  content.add(prefix + "history", std::array{static_cast<std::int64_t>(history.size()), figures}, real.data());
  add_vector(content, prefix + "changed", std::span(std::as_const(changed)));
}

std::vector<KMeansIteration> history_of(const core::NpzArrays& arrays, const std::string& prefix) {
  const std::vector<double> real = arrays.get<double>(prefix + "history", figures);
  const std::vector<std::int64_t> changed = arrays.get<std::int64_t>(prefix + "changed");
  std::vector<KMeansIteration> history;
  for (std::size_t index = 0; index < std::min(changed.size(), real.size() / figures); ++index) {
    const double* const row = &real[index * figures];
    history.push_back({.inertia = row[0], .changed = changed[index], .shift = row[1], .seconds = row[2]});
  }
  return history;
}

template <class T>
Matrix<T> matrix_of(const core::NpzArrays& arrays, std::string_view name, std::int64_t columns) {
  const std::vector<T> values = arrays.get<T>(name, columns);
  Matrix<T> matrix(std::ssize(values) / columns, columns);
  std::ranges::copy(values, matrix.data());
  return matrix;
}

std::vector<char> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<char> bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file.is_open() || file.bad()) throw InputError("cannot read the checkpoint '" + path + "'");
  return bytes;
}

/// Throws InputError if the texts of the two jobs differ. If `any_limit` is true, ignores differences between the
/// iteration limits.
void require_same_job(const std::string& file, const std::string& theirs, const std::string& own, bool any_limit) {
  const auto next_line = [](std::string_view& text) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    return std::string(line);
  };
  std::string differences;
  for (std::string_view there = theirs, here = own; !there.empty() || !here.empty();) {
    const std::string before = next_line(there);
    const std::string now = next_line(here);
    constexpr std::string_view limit = "max_iterations=";
    if (any_limit && before.starts_with(limit) && now.starts_with(limit)) continue;
    if (before != now) differences += (differences.empty() ? "" : "; ") + before + " there, but " + now + " here";
  }
  if (!differences.empty())
    throw InputError("'" + file + "' is a checkpoint of another job: " + differences +
                     "; it resumes only with the same points and options");
}

}  // namespace

template <class T>
std::string job_text(const std::string& call, const PointRows<T>& points, VectorView<const T> weights,
                     MatrixView<const T> given, const Execution& execution, const core::RankRows& all_rows) {
  const MatrixView<const T> column(weights.data(), weights.size(), 1, 1, weights.place());
  core::Ranks& ranks = all_rows.ranks();
  const std::vector<std::uint64_t> hashes = ranks.sum(3, [&](std::span<std::uint64_t> words) {
    words[0] = points.is_stored()
                   ? cpu::hash_of_rows(points.stored(), all_rows.first(), cpu::thread_count(execution), execution.stop)
                   : hash_of(points.shape(), "points", all_rows.first(), execution);
    words[1] = hash_of(column, "weights", all_rows.first(), execution);
    if (ranks.is_first()) words[2] = hash_of(given, "initial centroids", 0, execution);
  });
  return "format=" + std::to_string(format) + "\n" + "element type=" + (sizeof(T) == 4 ? "f32" : "f64") +
         "\nrows=" + std::to_string(all_rows.all()) + "\ncolumns=" + std::to_string(points.columns()) + "\n" + call +
         core::call_line("hash of the points", cpu::hash_text(hashes[0])) +
         core::call_line("hash of the weights", cpu::hash_text(hashes[1])) +
         core::call_line("hash of the initial centroids", cpu::hash_text(hashes[2]));
}

template <class T>
std::optional<JobState<T>> read_checkpoint(const KMeansOptions& options, const std::string& job, std::int64_t columns,
                                           core::Ranks& ranks) {
  const std::string& path = options.checkpoint.file;
  std::error_code none;  // ignored: if the path is unreadable, an error is reported when the checkpoint is written
  const auto read = [&] { return std::filesystem::is_regular_file(path, none) ? bytes_of(path) : std::vector<char>(); };
  // All ranks receive the bytes that rank 0 has read. If the file is empty, the fit starts as if there were no file. No
  // checkpoint is empty, because checkpoints are written atomically.
  const std::vector<char> bytes = ranks.from(0, read);
  if (bytes.empty()) return std::nullopt;
  const core::NpzArrays arrays(std::as_bytes(std::span(bytes)), path);
  const std::vector<unsigned char> text = arrays.get<unsigned char>("job");
  const std::vector<std::int64_t> progress = arrays.get<std::int64_t>("progress");
  const bool none_has_ended = progress.size() == 4 && progress[1] < 0;
  require_same_job(path, {text.begin(), text.end()}, job, none_has_ended);

  const auto refuse = [&](const char* what) { throw InputError("'" + path + "': " + what); };
  const auto require_rows = [&](const Matrix<T>& centroids) {
    if (centroids.rows() != options.clusters) refuse("it holds another number of centroids than it says");
  };
  if (progress.size() != 4 || progress[0] < 0 || progress[0] > restart_limit(options) || progress[1] < -1 ||
      progress[1] >= progress[0] || (progress[0] == restart_limit(options) && progress[1] < 0) || progress[3] < 0 ||
      progress[3] > static_cast<std::int64_t>(KMeansStopReason::iteration_limit))
    refuse("its progress record is invalid");
  JobState<T> state;
  state.restart = static_cast<int>(progress[0]);
  if (arrays.has("centroids")) {
    FitState<T>& fit = state.fit.emplace();
    fit.centroids = matrix_of<T>(arrays, "centroids", columns);
    require_rows(fit.centroids);
    fit.before = matrix_of<T>(arrays, "before", columns);
    require_rows(fit.before);
    fit.history = history_of(arrays, "");
    if (std::ssize(fit.history) > options.max_iterations)
      refuse("it holds more iterations than the limit (max_iterations)");
  }
  if (arrays.has("chosen")) {
    state.seeding = SeedingState{.sample = arrays.get<std::int64_t>("sample"),
                                 .rounds = arrays.get<std::int64_t>("rounds"),
                                 .chosen = arrays.get<std::int64_t>("chosen")};
  }
  if (progress[1] >= 0) {
    KMeansResult<T>& best = state.best.emplace();
    best.centroids = matrix_of<T>(arrays, "best_centroids", columns);
    require_rows(best.centroids);
    best.history = history_of(arrays, "best_");
    best.iterations = static_cast<int>(best.history.size());
    const std::vector<double> inertia = arrays.get<double>("best_inertia");
    if (inertia.size() != 1) refuse("it holds no inertia of its best fit");
    best.inertia = inertia.front();
    best.restart = static_cast<int>(progress[1]);
    best.converged = progress[2] != 0;
    best.stop_reason = static_cast<KMeansStopReason>(progress[3]);
  }
  if (arrays.has("moves")) {
    const std::vector<std::int64_t> moves = arrays.get<std::int64_t>("moves");
    const std::vector<double> seconds = arrays.get<double>("move_seconds");
    const bool has_numbers = moves.size() >= 4 && moves[0] >= 0 && moves[1] > 0 && seconds.size() == 3;
    if (!has_numbers || progress[0] < restart_limit(options)) refuse("its record of moves is invalid");
    state.moves = {moves[0],   moves[1],   moves[2] != 0, moves[3] != 0, {moves.begin() + 4, moves.end()},
                   seconds[0], seconds[1], seconds[2]};
    for (const std::int64_t cluster : state.moves.closed)
      if (cluster < 0 || cluster >= options.clusters) refuse("its record of moves is invalid");
  }
  return state;
}

void require_no_other_file(const std::string& path, bool resumes) {
  std::error_code none;
  const std::filesystem::file_status status = std::filesystem::status(path, none);
  if (!std::filesystem::exists(status) || std::filesystem::is_character_file(status)) return;
  if (!std::filesystem::is_regular_file(status)) throw InputError("'" + path + "' is no file that can be replaced");
  if (resumes) return;
  const auto refuse = [&](const std::string& why) {
    throw InputError("'" + path + "' exists and is no checkpoint, which would replace it; name another file" + why);
  };
  const std::vector<char> bytes = bytes_of(path);
  if (bytes.empty()) return;
  try {
    const core::NpzArrays arrays(std::as_bytes(std::span(bytes)), path);
    if (arrays.has("job") && arrays.has("progress")) return;
  } catch (const InputError& error) {
    refuse(" (" + std::string(error.what()) + ")");
  }
  refuse("");
}

std::uint64_t checkpoint_bytes(std::uint64_t centroid_bytes) {
  // The writer keeps three sets of centroids in memory. The reader keeps three sets and the bytes of the file.
  return 6 * centroid_bytes;
}

MappedInputs::MappedInputs(std::initializer_list<const void*> addresses) {
  for (const void* const address : addresses) {
    std::string path = address == nullptr ? "" : core::path_mapped_at(address);
    std::error_code none;
    if (!std::filesystem::is_regular_file(path, none)) continue;  // also skips memory that belongs to a device
    const core::FileState state = core::state_of(path);
    files_.emplace_back(std::move(path), state);
  }
}

void MappedInputs::require_unchanged() const {
  for (const auto& [path, state] : files_) core::require_unchanged(path, state, path);
}

template <class T>
CheckpointFile<T>::CheckpointFile(const KMeansCheckpoint& options, std::string job, const MappedInputs& inputs,
                                  std::int64_t k, std::int64_t d)
    : options_(options), job_(std::move(job)), inputs_(inputs) {
  const std::uint64_t bytes = 3 * static_cast<std::uint64_t>(k * d) * sizeof(T);
  constexpr std::uint64_t most = 0xff000000;  // slightly below 4 GiB; the rest is for the history
  if (bytes > most)
    throw UnsupportedError("'" + options.file + "': a checkpoint holds up to " + core::size_text(most) +
                           ", but three sets of " + std::to_string(k) + " x " + std::to_string(d) + " centroids take " +
                           core::size_text(bytes));
  core::AtomicFile(options.file).expect(bytes);
}

template <class T>
CheckpointFile<T>::~CheckpointFile() {
  try {
    wait();
  } catch (...) {  // the caller's function has already reported the error
  }
}

template <class T>
bool CheckpointFile<T>::is_due() const {
  return core::seconds_since(last_) >= options_.seconds ||
         (options_.request != nullptr && options_.request->load(std::memory_order_relaxed));
}

template <class T>
bool CheckpointFile<T>::is_due(int iterations) const {
  return (options_.iterations > 0 && iterations % options_.iterations == 0) || is_due();
}

template <class T>
int CheckpointFile<T>::steps_to_make(int iterations) const {
  if (is_due()) return 1;
  if (options_.iterations < 1) return std::numeric_limits<int>::max();
  return std::max(1, options_.iterations - iterations % options_.iterations - 1);
}

template <class T>
core::NpzContent CheckpointFile<T>::begin() const {
  core::NpzContent content;
  add_vector(content, "job", std::span(reinterpret_cast<const unsigned char*>(job_.data()), job_.size()));
  std::array<std::int64_t, 4> progress{restart_, -1, 0, 0};
  if (best_ != nullptr)
    progress = {restart_, best_->restart, best_->converged ? 1 : 0, static_cast<std::int64_t>(best_->stop_reason)};
  add_vector(content, "progress", std::span<const std::int64_t>(progress));
  if (best_ == nullptr) return content;
  add_matrix(content, "best_centroids", best_->centroids.view());
  add_history(content, "best_", best_->history);
  add_vector(content, "best_inertia", std::span(&best_->inertia, 1));
  return content;
}

template <class T>
void CheckpointFile<T>::write(const FitView<T>& fit) {
  core::NpzContent content = begin();
  add_matrix(content, "centroids", fit.centroids);
  add_matrix(content, "before", fit.before);
  add_history(content, "", fit.history);
  has_begun_ = true;
  start(std::move(content));
}

template <class T>
void CheckpointFile<T>::write_seeding() {
  core::NpzContent content = begin();
  if (!seeding.chosen.empty() || !seeding.sample.empty()) {
    add_vector(content, "sample", std::span<const std::int64_t>(seeding.sample));
    add_vector(content, "rounds", std::span<const std::int64_t>(seeding.rounds));
    add_vector(content, "chosen", std::span<const std::int64_t>(seeding.chosen));
  }
  start(std::move(content));
}

template <class T>
void CheckpointFile<T>::write_moves(const MoveState& moves) {
  core::NpzContent content = begin();
  if (moves.breadth > 0) {
    std::vector<std::int64_t> numbers{moves.moves, moves.breadth, moves.swaps_failed, moves.transfers_failed};
    numbers.insert(numbers.end(), moves.closed.begin(), moves.closed.end());
    add_vector(content, "moves", std::span<const std::int64_t>(numbers));
    add_vector(content, "move_seconds", std::span<const double>(std::array{moves.budget, moves.spent, moves.total}));
  }
  start(std::move(content));
}

template <class T>
void CheckpointFile<T>::write_what_is_chosen() {
  const bool is_something = best_ != nullptr || !seeding.chosen.empty() || !seeding.sample.empty();
  if (is_something && !has_begun_) write_seeding();
}

template <class T>
void CheckpointFile<T>::start(core::NpzContent content) {
  wait();
  try {
    inputs_.require_unchanged();
  } catch (const InputError& error) {
    failure_ = error.what();  // the fit throws the error at its end, on all ranks together
    return;
  }
  if (options_.request != nullptr) options_.request->store(false, std::memory_order_relaxed);
  last_ = core::Clock::now();
  content_ = std::move(content);
  try {
    writer_ = std::thread([this] { write_content(); });
  } catch (const std::system_error&) {  // if the system cannot start another thread, this thread writes the file
    write_content();
  }
}

/// Writes without the stop token of the job, because the last checkpoint is written after a stop request.
template <class T>
void CheckpointFile<T>::write_content() noexcept {
  try {
    core::AtomicFile file(options_.file);
    content_.write(file);
    file.commit();
    content_ = {};
  } catch (const std::exception& error) {
    failure_ = error.what();
  }
}

template <class T>
void CheckpointFile<T>::wait() {
  if (writer_.joinable()) writer_.join();
  const std::string failure = std::exchange(failure_, "");
  if (failure.empty() || failure == reported_failure_ || !options_.note) return;
  reported_failure_ = failure;
  options_.note("no checkpoint was made: " + failure + "; the fit continues and retries when the next one is due");
}

// NOLINTBEGIN(bugprone-macro-parentheses): a type
#define GRADUS_INSTANTIATE(T)                                                                                      \
  template std::string job_text(const std::string&, const PointRows<T>&, VectorView<const T>, MatrixView<const T>, \
                                const Execution&, const core::RankRows&);                                          \
  template std::optional<JobState<T>> read_checkpoint(const KMeansOptions&, const std::string&, std::int64_t,      \
                                                      core::Ranks&)
// NOLINTEND(bugprone-macro-parentheses)
GRADUS_INSTANTIATE(float);
GRADUS_INSTANTIATE(double);
#undef GRADUS_INSTANTIATE

template class CheckpointFile<float>;
template class CheckpointFile<double>;

}  // namespace gradus::kmeans_detail
