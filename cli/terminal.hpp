// The terminal as a picture: keys come one by one, and what was shown before comes back afterwards.
#pragma once

#include <string_view>

namespace gradus::cli {

/// From construction to destruction the terminal shows another screen without a cursor, and gives keys as they are
/// pressed. Ctrl-C still is a signal; Ctrl-Z and Ctrl-\ are not, for they would leave the terminal like this. There is
/// at most one. Error where the terminal refuses.
class Terminal {
 public:
  Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  /// Error where the terminal is gone.
  void write(std::string_view text) const;
};

/// Brings back what was there before, where a Terminal is alive. For whoever ends the process at once; any thread.
void restore_terminal() noexcept;

}  // namespace gradus::cli
