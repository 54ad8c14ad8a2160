#include "cli/session.hpp"

#include <fmt/core.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/terminal.hpp"
#include "core/stop.hpp"
#include "core/text.hpp"

namespace gradus::cli {

namespace {

/// Returns the codes that move the cursor to the start of a line with `drawn` columns. The terminal may have become
/// narrower, so that the line takes several rows.
std::string back_over(std::size_t drawn, std::size_t columns) {
  const std::size_t rows = drawn == 0 ? 0 : (drawn - 1) / columns;
  return rows == 0 ? "\r" : fmt::format("\r\x1b[{}A", rows);
}

/// Returns the longest prefix of the text that fits.
std::string_view first_columns(std::string_view text, std::size_t columns) {
  while (width_of(text) > columns) text.remove_suffix(1);
  return text;
}

std::string duration_text(double seconds) {
  const auto whole = std::llround(seconds);
  if (whole >= 3600) return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
  if (whole >= 60) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} s", whole);
}

}  // namespace

std::size_t terminal_columns(int descriptor) {
  if (isatty(descriptor) == 0) return 0;
  winsize size{};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char byte) { return (byte & 0xC0) != 0x80; }));
}

std::string json_text(const nlohmann::ordered_json& value) {
  return value.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

void ProgressBar::update(const Progress& progress) {
  if (!shown_ || progress.total <= 0) return;
  const auto now = Clock::now();
  if (phase_ != progress.phase || progress.done < first_done_) {
    phase_ = progress.phase;
    phase_start_ = now;
    first_done_ = progress.done;
  } else if (now - last_drawn_ < std::chrono::milliseconds(100)) {
    return;
  }
  last_drawn_ = now;
  const double share = std::clamp(static_cast<double>(progress.done) / static_cast<double>(progress.total), 0.0, 1.0);
  const double elapsed = std::chrono::duration<double>(now - phase_start_).count();
  const auto steps = static_cast<double>(progress.done - first_done_);
  std::string left;
  if (steps > 0 && elapsed > 0.5)
    left =
        ", at most " + duration_text(elapsed / steps * static_cast<double>(progress.total - progress.done)) + " left";
  constexpr int bar_columns = 24;
  const int filled = static_cast<int>(share * bar_columns);
  std::string line = fmt::format("{} [{}{}] {:3.0f} %{}", phase_, std::string(static_cast<std::size_t>(filled), '#'),
                                 std::string(static_cast<std::size_t>(bar_columns - filled), '.'), 100 * share, left);
  if (!progress.detail.empty()) line += fmt::format("  {}", progress.detail);
  const std::size_t columns = std::max<std::size_t>(terminal_columns(STDERR_FILENO), 2);
  const std::string_view seen = first_columns(line, columns - 1);
  write_standard_error(fmt::format("{}{}\x1b[J", back_over(drawn_, columns), seen));
  drawn_ = width_of(seen);
}

void ProgressBar::clear() {
  if (drawn_ == 0) return;
  write_standard_error(back_over(drawn_, std::max<std::size_t>(terminal_columns(STDERR_FILENO), 2)) + "\x1b[J");
  drawn_ = 0;
}

void Session::end_progress() const {
  if (bar) bar->clear();
}

void Session::print(std::string_view text) const {
  if (!is_first()) return;
  end_progress();
  // Polls before each write. A slow reader may block the pipe, and a signal does not always interrupt a blocked write.
  constexpr int patience_milliseconds = 50;
  // Short texts, such as a message about the stop request, are always written completely.
  const bool is_long = text.size() > std::size_t{1} << 20;
  pollfd wanted{STDOUT_FILENO, POLLOUT, 0};
  for (std::size_t written = 0; written < text.size();) {
    const bool waits = execution.stop.stop_possible() && ::poll(&wanted, 1, patience_milliseconds) == 0;
    if (waits || is_long) core::honour_stop(execution.stop, "stopped while writing to standard output");
    if (waits) continue;
    const std::size_t count = std::min<std::size_t>(text.size() - written, PIPE_BUF);
    if (std::fwrite(text.data() + written, 1, count, stdout) != count || std::fflush(stdout) != 0) {
      print_error = errno;
      return;
    }
    written += count;
  }
}

void Session::print_json(const nlohmann::ordered_json& value) const { print(json_text(value)); }

void Session::note(std::string_view message) const {
  if (quiet || !is_first()) return;
  end_progress();
  std::fflush(stdout);  // keeps the order of standard output and standard error if both have the same destination
  write_message(message);
}

std::string Session::bold(std::string_view text) const {
  return colour ? fmt::format("\x1b[1m{}\x1b[0m", text) : std::string(text);
}

std::string Session::faint(std::string_view text) const {
  return colour ? fmt::format("\x1b[2m{}\x1b[0m", text) : std::string(text);
}

}  // namespace gradus::cli
