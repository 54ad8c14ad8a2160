#include "cli/terminal.hpp"

#include <termios.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>

#include "core/text.hpp"
#include "gradus/error.hpp"

namespace gradus::cli {

namespace {

termios before{};
std::atomic<bool> is_changed{false};  ///< orders `before` with it

constexpr std::string_view other_screen = "\x1b[?1049h\x1b[?25l\x1b[2J";
constexpr std::string_view this_screen = "\x1b[0m\x1b[?25h\x1b[?1049l";

bool write_all(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(STDOUT_FILENO, text.data(), text.size());
    if (count < 0 && errno != EINTR && errno != EAGAIN) return false;
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

Terminal::Terminal() {
  if (::tcgetattr(STDIN_FILENO, &before) != 0) throw Error("cannot set up the terminal" + core::reason(errno));
  termios raw = before;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  raw.c_iflag &= ~static_cast<tcflag_t>(IXON);
  raw.c_oflag &= ~static_cast<tcflag_t>(OPOST);
  raw.c_cc[VMIN] = 0;
  raw.c_cc[VTIME] = 0;
  raw.c_cc[VSUSP] = _POSIX_VDISABLE;
  raw.c_cc[VQUIT] = _POSIX_VDISABLE;
  is_changed.store(true, std::memory_order_release);
  if (::tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw) != 0) {
    const int why = errno;
    restore_terminal();
    throw Error("cannot set up the terminal" + core::reason(why));
  }
  write_all(other_screen);
}

Terminal::~Terminal() { restore_terminal(); }

void Terminal::write(std::string_view text) const {
  if (!write_all(text)) throw Error("cannot write to the terminal" + core::reason(errno));
}

void restore_terminal() noexcept {
  if (!is_changed.exchange(false, std::memory_order_acq_rel)) return;
  write_all(this_screen);
  (void)::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
}

}  // namespace gradus::cli
