// A position in the text of a file's header.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include "files/file_fields.hpp"
#include "gradus/error.hpp"

namespace gradus::files {

/// Base class for parsers of headers. A header is a text of brackets, strings and integers.
class HeaderCursor {
 protected:
  /// `offset` is the position of `text` in the file. `format` is the format's name. Both appear in messages.
  HeaderCursor(std::string_view text, std::size_t offset, std::string_view name, std::string_view format)
      : text_(text), offset_(offset), name_(name), format_(format) {}

  /// Throws InputError about a position in the text.
  [[noreturn]] void fail(std::size_t position, const std::string& what) const {
    const std::size_t byte = offset_ + position;
    throw InputError("'" + std::string(name_) + "': bad " + std::string(format_) + " header at byte " +
                         std::to_string(byte) + ": " + what,
                     fields_at_byte(name_, byte));
  }

  std::size_t position() const { return position_; }
  bool at_end() const { return position_ == text_.size(); }
  bool is_at(char wanted) const { return !at_end() && text_[position_] == wanted; }

  void skip_blanks() {
    while (is_at(' ') || is_at('\n') || is_at('\t') || is_at('\r')) ++position_;
  }

  bool accept(char wanted) {
    skip_blanks();
    if (!is_at(wanted)) return false;
    ++position_;
    return true;
  }

  void expect(char wanted) {
    if (!accept(wanted)) fail(position_, std::string("'") + wanted + "' is expected");
  }

  bool accept_word(std::string_view word) {
    skip_blanks();
    if (!text_.substr(position_).starts_with(word)) return false;
    position_ += word.size();
    return true;
  }

  /// Returns the string at the current position, without its quotes. Escapes are not decoded.
  std::string_view string(std::string_view quotes) {
    skip_blanks();
    const std::size_t start = position_;
    if (at_end() || quotes.find(text_[start]) == std::string_view::npos) fail(start, "a string is expected");
    for (++position_; !at_end(); ++position_) {
      if (is_at(text_[start])) return text_.substr(start + 1, position_++ - start - 1);
      if (is_at('\\') && position_ + 1 < text_.size()) ++position_;
    }
    fail(start, "the string does not end");
  }

  /// Parses a non-negative integer. `noun`, such as "dimension", appears in messages.
  std::int64_t integer(const std::string& noun) {
    skip_blanks();
    std::int64_t value = 0;
    const char* const begin = text_.data() + position_;
    const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), value);
    if (error == std::errc::result_out_of_range) fail(position_, "the " + noun + " overflows 64 bits");
    if (error != std::errc{} || value < 0) fail(position_, "a " + noun + ", zero or more, is expected");
    position_ += static_cast<std::size_t>(end - begin);
    return value;
  }

 private:
  std::string_view text_;
  std::size_t offset_;
  std::string_view name_;
  std::string_view format_;
  std::size_t position_ = 0;
};

}  // namespace gradus::files
