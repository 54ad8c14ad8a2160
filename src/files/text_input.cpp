#include "files/text_input.hpp"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "core/stop.hpp"
#include "core/text.hpp"
#include "files/file_fields.hpp"

namespace gradus::files {

namespace {

/// A text in memory is consumed in pieces of this size. Between two pieces, the stop request is polled and the progress
/// is reported.
constexpr std::size_t bytes_of_a_piece = std::size_t{8} << 20;
constexpr std::size_t bytes_of_a_buffer = std::size_t{1} << 20;
constexpr std::size_t bytes_of_a_beginning = std::size_t{1} << 16;
constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";  // UTF-8
/// The maximum length of a line. There is a maximum because a small compressed file can expand to an endless line.
constexpr std::size_t longest_line = std::size_t{1} << 30;

/// Waits until a read would not block. Polls the stop request, because the input may never arrive, and a signal may
/// interrupt another thread instead of this one.
void wait_for_input(int descriptor, std::string_view name, const std::stop_token& stop) {
  constexpr int patience_milliseconds = 50;
  if (descriptor < 0) return;  // the read will report the error
  pollfd wanted{descriptor, POLLIN, 0};
  do {
    if (stop.stop_requested()) throw InterruptedError("stopped while reading " + std::string(name));
  } while (::poll(&wanted, 1, stop.stop_possible() ? patience_milliseconds : -1) == 0);
}

ReadBytes read_descriptor(int descriptor, const std::string& name, const std::stop_token& stop) {
  return [=](char* into, std::size_t room) -> std::size_t {
    for (;;) {
      wait_for_input(descriptor, name, stop);
      const ssize_t got = ::read(descriptor, into, room);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR && errno != EAGAIN)
        throw InputError("cannot read " + name + core::reason(errno), {.code = error_code::cannot_read, .file = name});
    }
  };
}

class Unpacking {
 public:
  Unpacking(ReadBytes packed, std::string name) : packed_(std::move(packed)), name_(std::move(name)), buffer_(1 << 17) {
    constexpr int gzip_alone = 15 + 16;
    if (::inflateInit2(&stream_, gzip_alone) != Z_OK)
      throw OutOfMemoryError("cannot unpack " + name_ + ": out of memory");
  }
  Unpacking(const Unpacking&) = delete;
  Unpacking& operator=(const Unpacking&) = delete;
  ~Unpacking() { ::inflateEnd(&stream_); }

  std::size_t read(char* into, std::size_t room) {
    constexpr std::size_t most = std::size_t{1} << 30;
    stream_.next_out = reinterpret_cast<Bytef*>(into);
    stream_.avail_out = static_cast<uInt>(std::min(room, most));
    const uInt wanted = stream_.avail_out;
    while (stream_.avail_out == wanted && !done_) {
      if (stream_.avail_in == 0 && !refill()) {
        if (!between_members_) fail("the packed data are cut off");
        done_ = true;
        break;
      }
      if (between_members_) next_member();
      const int status = ::inflate(&stream_, Z_NO_FLUSH);
      if (status == Z_STREAM_END) between_members_ = true;
      else if (status == Z_MEM_ERROR) throw OutOfMemoryError("cannot unpack " + name_ + ": out of memory");
      else if (status != Z_OK && status != Z_BUF_ERROR)
        fail(std::string("the packed data are damaged") + (stream_.msg ? std::string(": ") + stream_.msg : ""));
    }
    return wanted - stream_.avail_out;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    const std::size_t byte = read_ - stream_.avail_in;
    throw InputError(name_ + ": " + what + " (byte " + std::to_string(byte) + ")", fields_at_byte(name_, byte));
  }

  bool refill() {
    const std::size_t got = packed_(buffer_.data(), buffer_.size());
    stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
    stream_.avail_in = static_cast<uInt>(got);
    read_ += got;
    return got > 0;
  }

  /// Handles the bytes after the end of a gzip member. They are the next member, or zeros up to the end of the file.
  /// Tapes pad files with such zeros.
  void next_member() {
    if (padded_ || *stream_.next_in == 0) {
      padded_ = true;
      while (stream_.avail_in > 0 && *stream_.next_in == 0) {
        ++stream_.next_in;
        --stream_.avail_in;
      }
      if (stream_.avail_in > 0) fail("something follows the packed data");
      return;  // inflate() does nothing without input
    }
    if (*stream_.next_in != 0x1f) fail("something follows the packed data");
    ::inflateReset(&stream_);
    between_members_ = false;
  }

  ReadBytes packed_;
  std::string name_;
  std::vector<char> buffer_;
  z_stream stream_{};
  std::uint64_t read_ = 0;
  bool between_members_ = false;
  bool padded_ = false;
  bool done_ = false;
};

}  // namespace

bool is_spreadsheet_error(std::string_view text) {
  static constexpr std::array<std::string_view, 12> errors = {"#N/A",   "#N/A N/A", "#DIV/0!", "#NAME?",
                                                              "#NULL!", "#NUM!",    "#REF!",   "#VALUE!",
                                                              "#NV",    "#WERT!",   "#BEZUG!", "#ZAHL!"};
  return std::any_of(errors.begin(), errors.end(), [&](std::string_view error) {
    return text.starts_with(error) && (text.size() == error.size() || std::strchr(",;\t\r\n", text[error.size()]));
  });
}

bool looks_like_gzip(std::string_view bytes) { return bytes.starts_with("\x1f\x8b"); }

ReadBytes gunzip(ReadBytes packed, std::string name) {
  return [unpacking = std::make_shared<Unpacking>(std::move(packed), std::move(name))](char* into, std::size_t room) {
    return unpacking->read(into, room);
  };
}

TextInput::TextInput(const std::string& path, std::stop_token stop, ReadProgress progress)
    : name_(path == "-" ? "standard input" : path), stop_(std::move(stop)), progress_(std::move(progress)) {
  if (path == "-") {
    start(read_descriptor(STDIN_FILENO, name_, stop_));
  } else if (is_stream(path)) {
    // O_NONBLOCK is necessary because open() would otherwise wait until the pipe has a writer, and would not respond to
    // a stop request.
    pipe_ = std::make_unique<Descriptor>(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (pipe_->number() < 0)
      throw InputError("cannot read '" + path + "'" + core::reason(errno),
                       {.code = error_code::cannot_read, .file = path});
    start(read_descriptor(pipe_->number(), name_, stop_));
  } else {
    file_ = std::make_unique<MappedFile>(path);
    start({reinterpret_cast<const char*>(file_->bytes().data()), file_->bytes().size()});
  }
}

TextInput::TextInput(std::span<const std::byte> bytes, std::string_view name, std::stop_token stop)
    : name_(name), stop_(std::move(stop)) {
  start({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

TextInput::TextInput(int descriptor, std::string_view name, std::stop_token stop)
    : name_(name), stop_(std::move(stop)) {
  start(read_descriptor(descriptor, name_, stop_));
}

void TextInput::start(std::string_view bytes) {
  if (!looks_like_gzip(bytes)) {
    text_ = bytes.substr(bytes.starts_with(byte_order_mark) ? byte_order_mark.size() : 0);
    return;
  }
  packed_total_ = static_cast<std::int64_t>(bytes.size());
  read_ = gunzip(
      [this, bytes](char* into, std::size_t room) {
        const auto done = static_cast<std::size_t>(packed_done_);
        const std::size_t count = std::min(room, bytes.size() - done);
        std::memcpy(into, bytes.data() + done, count);
        packed_done_ += static_cast<std::int64_t>(count);
        return count;
      },
      name_);
  skip_mark();
}

void TextInput::start(ReadBytes read) {
  read_ = std::move(read);
  skip_mark();
  if (!looks_like_gzip({buffer_.data(), filled_})) return;
  std::vector<char> first(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(filled_));
  filled_ = 0;
  ended_ = false;
  ReadBytes packed = [first = std::move(first), taken = std::size_t{0}, rest = std::move(read_)](
                         char* into, std::size_t room) mutable {
    if (taken == first.size()) return rest(into, room);
    const std::size_t count = std::min(room, first.size() - taken);
    std::memcpy(into, first.data() + taken, count);
    taken += count;
    return count;
  };
  read_ = gunzip(std::move(packed), name_);
  skip_mark();
}

/// Skips the byte-order mark. Otherwise, it would become a part of the first word.
void TextInput::skip_mark() {
  fill(byte_order_mark.size());
  if (!std::string_view(buffer_.data(), filled_).starts_with(byte_order_mark)) return;
  filled_ -= byte_order_mark.size();
  std::memmove(buffer_.data(), buffer_.data() + byte_order_mark.size(), filled_);
}

void TextInput::fill(std::size_t enough) {
  if (buffer_.size() < enough) buffer_.resize(std::max(enough, bytes_of_a_buffer));
  while (filled_ < enough && !ended_) {
    core::honour_stop(stop_, "stopped while reading " + name_);
    const std::size_t got = read_(buffer_.data() + filled_, buffer_.size() - filled_);
    filled_ += got;
    ended_ = got == 0;
  }
}

std::string_view TextInput::beginning() {
  if (!read_) return text_.substr(0, bytes_of_a_beginning);
  fill(bytes_of_a_beginning);
  return {buffer_.data(), filled_};
}

std::shared_ptr<const std::vector<char>> TextInput::rest() {
  auto all = std::make_shared<std::vector<char>>();
  feed([&](std::string_view text, bool) {
    all->insert(all->end(), text.begin(), text.end());
    return text.size();
  });
  return all;
}

void TextInput::feed_text(const TakeLines& take) {
  std::size_t length = bytes_of_a_piece;
  std::size_t done = 0;
  for (bool last = false; !last;) {
    core::honour_stop(stop_, "stopped while reading " + name_);
    const std::string_view piece = text_.substr(done, length);
    last = done + piece.size() == text_.size();
    const std::size_t taken = take(piece, last);
    if (taken == 0) length *= 2;
    done += taken;
    if (progress_) progress_(static_cast<std::int64_t>(done), static_cast<std::int64_t>(text_.size()));
  }
}

void TextInput::feed(const TakeLines& take) {
  if (!read_) return feed_text(take);
  std::size_t enough = bytes_of_a_buffer;
  for (bool last = false; !last;) {
    // Parses only full buffers, so that a long first line is scanned again only after the buffer has doubled.
    fill(enough);
    last = ended_;
    const std::size_t taken = take({buffer_.data(), filled_}, last);
    if (last) break;
    if (taken == 0) enough *= 2;
    if (enough > longest_line)
      throw InputError(name_ + ": a line of more than " + core::size_text(longest_line), fields_of_file(name_));
    filled_ -= taken;
    std::memmove(buffer_.data(), buffer_.data() + taken, filled_);
    if (progress_ && packed_total_ > 0) progress_(packed_done_, packed_total_);
  }
}

std::optional<std::string_view> TextInput::next_line() {
  const auto without_end = [](std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  };
  if (!read_) {
    if (taken_ == text_.size()) return std::nullopt;
    const std::size_t end = std::min(text_.find('\n', taken_), text_.size());
    is_line_open_ = end == text_.size();
    const std::string_view line = text_.substr(taken_, end - taken_);
    taken_ = std::min(end + 1, text_.size());
    return without_end(line);
  }
  for (std::size_t looked_at = taken_;;) {
    const std::string_view rest(buffer_.data() + looked_at, filled_ - looked_at);
    const std::size_t found = rest.find('\n');
    if (found != std::string_view::npos || ended_) {
      const std::size_t end = found != std::string_view::npos ? looked_at + found : filled_;
      if (end == taken_ && found == std::string_view::npos) return std::nullopt;
      is_line_open_ = found == std::string_view::npos;
      const std::string_view line(buffer_.data() + taken_, end - taken_);
      taken_ = std::min(end + 1, filled_);
      return without_end(line);
    }
    // Moves the unread bytes to the beginning of the buffer. The rest of the line is then read into the space after
    // them.
    filled_ -= taken_;
    std::memmove(buffer_.data(), buffer_.data() + taken_, filled_);
    taken_ = 0;
    looked_at = filled_;
    if (filled_ > longest_line)
      throw InputError(name_ + ": a line of more than " + core::size_text(longest_line), fields_of_file(name_));
    if (packed_total_ > 0 && progress_) progress_(packed_done_, packed_total_);
    fill(std::max(2 * filled_, bytes_of_a_buffer));
  }
}

}  // namespace gradus::files
