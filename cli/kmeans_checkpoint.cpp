#include "cli/kmeans_checkpoint.hpp"

#include <atomic>
#include <charconv>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>

#include "core/text.hpp"
#include "gradus/error.hpp"
#include "kmeans/options.hpp"

namespace gradus::cli {

namespace {

std::atomic<bool> is_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal's handler sets it");

/// Parses an interval: "90s", "10m" and "1.5h" are times, and "20" is a number of iterations.
void parse_interval(std::string_view text, KMeansCheckpoint& checkpoint) {
  double count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count, std::chars_format::fixed);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const double seconds = unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (error == std::errc{} && count > 0 && seconds > 0) {
    checkpoint.seconds = count * seconds;
    return;
  }
  if (error != std::errc{} || !unit.empty() || !(count >= 1) || count > std::numeric_limits<int>::max() ||
      std::trunc(count) != count)
    throw UsageError("--checkpoint-every: " + core::excerpt(text) +
                     " is neither a time (90s, 10m, 1.5h) nor a number of iterations (20)");
  checkpoint.iterations = static_cast<int>(count);
  checkpoint.seconds = std::numeric_limits<double>::infinity();
}

}  // namespace

void add_checkpoint_options(Options& options, KMeansCheckpoint& checkpoint) {
  options.heading("A fit that ends early");
  const auto row = [&](std::string_view name) -> CLI::Option& {
    return options.not_repeated(
        options.row(*core::find_option(core::option_rows<KMeansCheckpoint>, name), &checkpoint));
  };
  row("checkpoint");
  const auto without_file = [&checkpoint] { return checkpoint.file.empty() ? "--checkpoint names no file" : ""; };
  options.ineffective_if(
      options.not_repeated(options.value("--checkpoint-every", "TIME|N",
                                         "interval: 90s, 10m, 1.5h, or a number of iterations [10m]",
                                         [&checkpoint](const std::string& text) { parse_interval(text, checkpoint); })),
      without_file);
  options.ineffective_if(row("resume"), without_file);
}

void require_checkpoint_name(const KMeansCheckpoint& checkpoint) {
  if (!checkpoint.file.empty() && !checkpoint.file.ends_with(".npz"))
    throw UsageError("--checkpoint: the name " + core::excerpt(checkpoint.file) + " does not end in .npz");
}

InterruptedError with_checkpoint(const InterruptedError& stop, const KMeansCheckpoint& checkpoint) {
  std::error_code none;
  if (checkpoint.file.empty() || !std::filesystem::exists(checkpoint.file, none)) return stop;
  ErrorFields fields = stop.fields();
  fields.remedy = "--resume continues it from '" + checkpoint.file + "'";
  return InterruptedError(stop.message(), fields);
}

void take_checkpoint_requests(KMeansCheckpoint& checkpoint, const Session& session) {
  if (checkpoint.file.empty()) return;
  checkpoint.request = &is_requested;
  checkpoint.note = [&session](std::string_view text) { session.note(text); };
  struct sigaction action {};
  action.sa_handler = [](int) { is_requested.store(true, std::memory_order_relaxed); };
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGUSR1, &action, nullptr);
}

}  // namespace gradus::cli
