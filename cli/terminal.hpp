// The standard streams, and a terminal in full-screen mode that reads single keys and is restored afterwards.
#pragma once

#include <string_view>

namespace gradus::cli {

/// Opens the standard streams that the caller has closed. Otherwise, a file of the job might get the descriptor of a
/// closed stream, and messages would be written to this file. Reading or writing the opened streams still fails. Must
/// be called before any file is opened.
void reserve_standard_streams() noexcept;

/// Writes "gradus: MESSAGE" and a newline to standard error, with control bytes made visible. All messages of the
/// program use this function.
void write_message(std::string_view message) noexcept;

/// Writes the text to standard error unchanged. Ignores failures, such as a full disk or a closed pipe, because a
/// message must not end a job.
void write_standard_error(std::string_view text) noexcept;

/// Switches the terminal, for the lifetime of the object, to the alternate screen without a cursor and to unbuffered
/// keys. Ctrl-C still sends a signal. Ctrl-Z and Ctrl-\ send none, because the stopped or ended program would leave the
/// terminal in this state. At most one object may exist. Throws Error if the terminal does not support this.
class Terminal {
 public:
  Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  ~Terminal();

  /// Throws Error if the terminal has closed.
  void write(std::string_view text) const;
};

/// Restores the terminal if a Terminal exists. Thread-safe, so that any thread can call it before it ends the process.
void restore_terminal() noexcept;

}  // namespace gradus::cli
