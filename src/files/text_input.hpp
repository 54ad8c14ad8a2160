// Text from a file, from standard input or from memory, packed by gzip or not, handed on piece by piece. A byte-order
// mark of UTF-8 at its beginning is no part of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "files/file.hpp"

namespace gradus::files {

/// Whether a line begins with a value of a spreadsheet's cell without a number: no comment, although it begins with #.
bool is_spreadsheet_error(std::string_view text);

bool looks_like_gzip(std::string_view bytes);

/// Reads some of up to `room` bytes; 0 at the end.
using ReadBytes = std::function<std::size_t(char* into, std::size_t room)>;

/// The content of gzip's format (RFC 1952), also of several members one after the other. InputError, with the place in
/// the packed bytes, for what is damaged, ends too early, or is followed by something else.
ReadBytes gunzip(ReadBytes packed, std::string name);

/// Takes whole lines from the beginning of `text`, all of it where it is the last, and returns how many bytes.
using TakeLines = std::function<std::size_t(std::string_view text, bool last)>;

/// Bytes that were read, of all of the file.
using ReadProgress = std::function<void(std::int64_t done, std::int64_t total)>;

class TextInput {
 public:
  /// A file by its path, or standard input where that is "-". A pipe is read as it comes; otherwise it throws as
  /// MappedFile does.
  explicit TextInput(const std::string& path, std::stop_token stop = {}, ReadProgress progress = {});
  /// Bytes that stay with the caller; `name` stands in messages.
  TextInput(std::span<const std::byte> bytes, std::string_view name, std::stop_token stop = {});
  /// A file descriptor, read to its end.
  TextInput(int descriptor, std::string_view name, std::stop_token stop = {});

  TextInput(const TextInput&) = delete;
  TextInput& operator=(const TextInput&) = delete;

  /// What the text begins with: all of it, or 64 KiB at least.
  std::string_view beginning();

  /// Hands on all of the text, piece by piece. A line that outgrows a piece is offered again in a larger one.
  /// InterruptedError after a stop request.
  void feed(const TakeLines& take);

  /// All that was not handed on yet, in memory of its own.
  std::shared_ptr<const std::vector<char>> rest();

  /// The next line without its end (LF or CRLF), valid until the next call; nothing after the last. For readers that
  /// are asked for one thing after another; not to be mixed with feed(). InputError for a line of more than 1 GiB.
  std::optional<std::string_view> next_line();
  /// Returns true if the text ends in the line that next_line() gave last, without an end of the line.
  bool is_line_open() const { return is_line_open_; }

  /// Bytes of text that next_line() has not given yet, where all of it lies in memory as it is.
  std::optional<std::uint64_t> bytes_left() const {
    if (read_) return std::nullopt;
    return text_.size() - taken_;
  }

  const std::string& name() const { return name_; }

 private:
  void start(std::string_view bytes);
  void start(ReadBytes read);
  void skip_mark();
  void fill(std::size_t enough);
  void feed_text(const TakeLines& take);

  std::string name_;
  std::stop_token stop_;
  ReadProgress progress_;
  std::unique_ptr<MappedFile> file_;
  std::unique_ptr<Descriptor> pipe_;
  std::string_view text_;     ///< all of it, where it lies in memory as it is
  ReadBytes read_;            ///< otherwise what gives it
  std::vector<char> buffer_;  ///< of which the first `filled_` bytes were read and not yet taken
  std::size_t filled_ = 0;
  std::size_t taken_ = 0;  ///< by next_line(), of the text or of the buffer
  bool ended_ = false;
  bool is_line_open_ = false;
  std::int64_t packed_done_ = 0;  ///< bytes of a packed file that were unpacked
  std::int64_t packed_total_ = 0;
};

}  // namespace gradus::files
