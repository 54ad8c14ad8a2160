// The standard streams, and a terminal in full-screen mode that reads single keys and is restored afterwards.
#pragma once

#include <string_view>

namespace gradus::cli {

/// Opens the standard streams that the caller has closed, so that no file of the job gets their descriptors and no
/// message ends up in a file. Reading or writing them still fails. Call it before any file is opened.
void reserve_standard_streams() noexcept;

/// Writes "gradus: MESSAGE" and a newline to standard error, with control bytes made visible. All messages of the
/// program use this function.
void write_message(std::string_view message) noexcept;

/// Writes the text to standard error unchanged. Ignores failures (a full disk, a closed pipe), because a message must
/// not end a job.
void write_standard_error(std::string_view text) noexcept;

/// Switches the terminal to the alternate screen without a cursor and to unbuffered keys, for the lifetime of the
/// object. Ctrl-C remains a signal. Ctrl-Z and Ctrl-\ do not, because they would leave the terminal in this state. At
/// most one object may exist. Throws Error if the terminal refuses.
class Terminal {
 public:
  Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  /// Throws Error if the terminal has closed.
  void write(std::string_view text) const;
};

/// Restores the terminal if a Terminal exists. For threads that are about to end the process; thread-safe.
void restore_terminal() noexcept;

}  // namespace gradus::cli
