// Reads text from a file, standard input or memory, gzip-compressed or not, in pieces and without a byte-order mark.
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

/// Returns true if a line begins with a spreadsheet's error value such as #N/A, which is not a comment despite the #.
bool is_spreadsheet_error(std::string_view text);

bool looks_like_gzip(std::string_view bytes);

/// Reads up to `room` bytes and returns their number; 0 at the end.
using ReadBytes = std::function<std::size_t(char* into, std::size_t room)>;

/// Decompresses gzip (RFC 1952) with one or more members. Throws InputError, with the position in the compressed bytes,
/// for data that is damaged, truncated or followed by something else.
ReadBytes gunzip(ReadBytes packed, std::string name);

/// Consumes whole lines of `text`, or all of it if it is the last piece. Returns the number of bytes consumed.
using TakeLines = std::function<std::size_t(std::string_view text, bool last)>;

/// Receives the number of bytes read so far and the size of the file.
using ReadProgress = std::function<void(std::int64_t done, std::int64_t total)>;

class TextInput {
 public:
  /// Opens a file, or standard input for "-". Reads a pipe as data arrives; otherwise throws like MappedFile.
  explicit TextInput(const std::string& path, std::stop_token stop = {}, ReadProgress progress = {});
  /// Reads bytes in memory, which the caller keeps alive. `name` appears in messages.
  TextInput(std::span<const std::byte> bytes, std::string_view name, std::stop_token stop = {});
  TextInput(int descriptor, std::string_view name, std::stop_token stop = {});

  TextInput(const TextInput&) = delete;
  TextInput& operator=(const TextInput&) = delete;

  /// Returns the beginning of the text: at least 64 KiB, or all of it.
  std::string_view beginning();

  /// Passes all of the text to `take`, piece by piece. If a line does not fit in a piece, it is passed again in a
  /// larger one. Throws InterruptedError after a stop request.
  void feed(const TakeLines& take);

  /// Returns all text not passed on yet, in newly allocated memory.
  std::shared_ptr<const std::vector<char>> rest();

  /// Returns the next line without its end (LF or CRLF), valid until the next call, or nothing after the last line.
  /// Must not be combined with feed(). Throws InputError for a line of more than 1 GiB.
  std::optional<std::string_view> next_line();
  /// Returns true if the line that next_line() returned last is the end of the text and has no line end.
  bool is_line_open() const { return is_line_open_; }

  /// Returns the bytes that next_line() has not returned yet, if the whole text is uncompressed in memory.
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
  std::string_view text_;     ///< the whole text, if it is uncompressed in memory
  ReadBytes read_;            ///< otherwise the source
  std::vector<char> buffer_;  ///< its first `filled_` bytes are read but not consumed
  std::size_t filled_ = 0;
  std::size_t taken_ = 0;  ///< bytes returned by next_line(), from the text or the buffer
  bool ended_ = false;
  bool is_line_open_ = false;
  std::int64_t packed_done_ = 0;  ///< bytes of a compressed file decompressed so far
  std::int64_t packed_total_ = 0;
};

}  // namespace gradus::files
