// Reads text from a file, standard input or memory, in pieces. Decompresses gzip and removes a byte-order mark.
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

/// Returns true if the text begins with a spreadsheet's error value, such as #N/A. A line that begins with such a value
/// is not a comment.
bool is_spreadsheet_error(std::string_view text);

bool looks_like_gzip(std::string_view bytes);

/// Reads up to `room` bytes and returns the number of bytes read, or 0 at the end.
using ReadBytes = std::function<std::size_t(char* into, std::size_t room)>;

/// Decompresses gzip (RFC 1952) with one or more members. Throws InputError with the position in the compressed bytes
/// if the data is damaged or truncated, or if anything other than gzip follows the data.
ReadBytes gunzip(ReadBytes packed, std::string name);

/// Consumes complete lines of `text`. If `text` is the last piece, consumes all of it. Returns the number of bytes
/// consumed.
using TakeLines = std::function<std::size_t(std::string_view text, bool last)>;

/// Receives the number of bytes read so far and the size of the file.
using ReadProgress = std::function<void(std::int64_t done, std::int64_t total)>;

class TextInput {
 public:
  /// Opens a file, or standard input for "-". Data from a pipe is read when it arrives. A file that is not a pipe is
  /// mapped. Throws the errors of MappedFile.
  explicit TextInput(const std::string& path, std::stop_token stop = {}, ReadProgress progress = {});
  /// Reads bytes in memory, which the caller keeps alive. `name` appears in messages.
  TextInput(std::span<const std::byte> bytes, std::string_view name, std::stop_token stop = {});
  TextInput(int descriptor, std::string_view name, std::stop_token stop = {});

  TextInput(const TextInput&) = delete;
  TextInput& operator=(const TextInput&) = delete;

  /// Returns the beginning of the text: at least 64 KiB, or all of it.
  std::string_view beginning();

  /// Passes the whole text to `take`, piece by piece. If `take` cannot consume a line because the piece ends within it,
  /// passes the line again in a larger piece. Throws InterruptedError after a stop request.
  void feed(const TakeLines& take);

  /// Returns, in newly allocated memory, the text that feed() has not passed on.
  std::shared_ptr<const std::vector<char>> rest();

  /// Returns the next line without its end (LF or CRLF), valid until the next call, or nothing after the last line.
  /// Must not be combined with feed(). Throws InputError for a line of more than 1 GiB.
  std::optional<std::string_view> next_line();
  /// Returns true if the text ends without a line end and next_line() has returned its last line.
  bool is_line_open() const { return is_line_open_; }

  /// Returns the number of bytes that next_line() has not yet returned. Returns nothing if the text is compressed or is
  /// not in memory.
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
  std::string_view text_;     ///< the text, if all of it is in memory and uncompressed
  ReadBytes read_;            ///< the source of the text if `text_` is not used
  std::vector<char> buffer_;  ///< contains `filled_` bytes that are read but not consumed
  std::size_t filled_ = 0;
  std::size_t taken_ = 0;  ///< number of bytes returned by next_line(), from the text or the buffer
  bool ended_ = false;
  bool is_line_open_ = false;
  std::int64_t packed_done_ = 0;  ///< number of bytes of a compressed file that have been decompressed
  std::int64_t packed_total_ = 0;
};

}  // namespace gradus::files
