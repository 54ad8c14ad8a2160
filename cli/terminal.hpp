// The standard streams: messages on standard error; and the terminal as a picture, whose keys come one by one, and
// which afterwards shows what it showed before.
#pragma once

#include <string_view>

namespace gradus::cli {

/// Opens the standard streams that the caller has closed, so that no file of a job gets their numbers and no message
/// gets into a file. Reading or writing them still fails. Call it before any file is opened.
void reserve_standard_streams() noexcept;

/// Writes "gradus: MESSAGE" as a line on standard error, with control bytes shown. All messages of the program go
/// through here.
void write_message(std::string_view message) noexcept;

/// Writes the text on standard error as it is. A failure (a full disk, a reader that is gone) is ignored: no job ends
/// because of a message.
void write_standard_error(std::string_view text) noexcept;

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
