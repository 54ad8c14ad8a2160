#include "cli/terminal.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <termios.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <exception>
#include <string>

#include "core/text.hpp"
#include "gradus/error.hpp"

namespace gradus::cli {

namespace {

termios before{};
std::atomic<bool> is_changed{false};  ///< if set, `before` is valid; stored with release, loaded with acquire

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

/// While an instance exists, this thread receives no SIGPIPE. A write to a pipe without a reader then fails with EPIPE.
class WithoutPipeSignal {
 public:
  WithoutPipeSignal() {
    sigset_t pending{};
    ::sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  WithoutPipeSignal(const WithoutPipeSignal&) = delete;
  WithoutPipeSignal& operator=(const WithoutPipeSignal&) = delete;
  ~WithoutPipeSignal() {
    const timespec at_once{};
    if (!was_pending_) (void)::sigtimedwait(&signal_, nullptr, &at_once);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t signal_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

}  // namespace

void reserve_standard_streams() noexcept {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0 || errno != EBADF) continue;
    // open() returns the lowest free descriptor, which is `stream`. Because of O_PATH, reading and writing fail, even
    // through /dev/stdout.
    (void)::open("/", O_PATH | O_DIRECTORY);
  }
}

void write_standard_error(std::string_view text) noexcept {
  const WithoutPipeSignal guard;
  constexpr int patience_milliseconds = 1000;
  while (!text.empty()) {
    const ssize_t count = ::write(STDERR_FILENO, text.data(), text.size());
    if (count > 0) text.remove_prefix(static_cast<std::size_t>(count));
    if (count >= 0 || errno == EINTR) continue;
    pollfd wanted{STDERR_FILENO, POLLOUT, 0};
    if (errno != EAGAIN || ::poll(&wanted, 1, patience_milliseconds) == 0) return;
  }
}

void write_message(std::string_view message) noexcept {
  try {
    write_standard_error("gradus: " + core::without_control(message) + "\n");
  } catch (const std::exception&) {  // there is no memory for the whole line, so the message is written in two parts
    write_standard_error(message);
    write_standard_error("\n");
  }
}

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
