#include "gradus/error.hpp"

#include <algorithm>
#include <utility>

#include "core/text.hpp"
#include "gradus/graph.hpp"

namespace gradus {

namespace {

using Piece = ErrorMessage::Piece;

std::string spelled_in_cpp(const OptionReference& option) {
  const bool has_value = option.kind == OptionReference::Value::number || option.kind == OptionReference::Value::text;
  return has_value ? option.name + " = " + option.value : option.name;
}

ErrorMessage reference(std::string_view name, std::string value, OptionReference::Value kind) {
  return ErrorMessage(Piece{.kind = Piece::Kind::option,
                            .option = {.name = std::string(name), .value = std::move(value), .kind = kind}});
}

void append_words(std::vector<Piece>& pieces, const std::string& words) {
  if (words.empty()) return;
  if (!pieces.empty() && pieces.back().kind == Piece::Kind::words) pieces.back().words += words;
  else pieces.push_back({.words = words});
}

std::string whole_text(const ErrorMessage& message, const ErrorFields& fields, const OptionSpelling& spelling) {
  std::string text;
  if (fields.rank) text = "rank " + std::to_string(*fields.rank) + " of " + std::to_string(fields.ranks) + ": ";
  text += message.text(spelling);
  if (!fields.remedy.empty()) text += "; " + fields.remedy.text(spelling);
  return text + fields.context;
}

}  // namespace

// ---------------------------------------------------------------------------------------------------------------------
// Messages

ErrorMessage::ErrorMessage() = default;
ErrorMessage::ErrorMessage(const ErrorMessage&) = default;
ErrorMessage::ErrorMessage(ErrorMessage&&) noexcept = default;
ErrorMessage& ErrorMessage::operator=(const ErrorMessage&) = default;
ErrorMessage& ErrorMessage::operator=(ErrorMessage&&) noexcept = default;
ErrorMessage::~ErrorMessage() = default;
ErrorFields::~ErrorFields() = default;

ErrorMessage::ErrorMessage(const char* words) : ErrorMessage(std::string(words)) {}

ErrorMessage::ErrorMessage(std::string words) {
  if (!words.empty()) pieces.push_back({.words = std::move(words)});
}

ErrorMessage& ErrorMessage::operator+=(const ErrorMessage& more) {
  if (empty()) return *this = more;
  if (!more.subject.empty()) append_words(pieces, more.subject + ": ");
  for (const Piece& piece : more.pieces)
    if (piece.kind == Piece::Kind::words) append_words(pieces, piece.words);
    else pieces.push_back(piece);
  return *this;
}

std::string ErrorMessage::text(const OptionSpelling& spelling) const {
  const auto is_vertex = [](const Piece& piece) { return piece.kind == Piece::Kind::vertex; };
  const auto vertices = std::ranges::count_if(pieces, is_vertex);
  std::string text = subject.empty() ? "" : subject + ": ";
  std::ptrdiff_t shown = 0;
  for (const Piece& piece : pieces) switch (piece.kind) {
      case Piece::Kind::words: text += piece.words; break;
      case Piece::Kind::option: text += spelling(piece.option); break;
      case Piece::Kind::vertex:
        text += std::to_string(piece.vertex);
        if (++shown == vertices) text += " (vertices counted from 0)";
    }
  return text;
}

ErrorMessage about(std::string_view subject) {
  const std::size_t part = subject.find(": ");
  ErrorMessage message(part == std::string_view::npos ? "" : std::string(subject.substr(part + 2)) + ": ");
  message.subject = subject.substr(0, part);
  return message;
}

ErrorMessage option(std::string_view name) { return reference(name, "", OptionReference::Value::none); }

ErrorMessage option(std::string_view name, std::string_view value) {
  return reference(name, std::string(value), OptionReference::Value::text);
}

ErrorMessage option(std::string_view name, std::int64_t value) {
  return reference(name, std::to_string(value), OptionReference::Value::number);
}

ErrorMessage option(std::string_view name, double value) {
  return reference(name, core::number_text(value), OptionReference::Value::number);
}

ErrorMessage flag(std::string_view name) { return reference(name, "", OptionReference::Value::flag); }

// ---------------------------------------------------------------------------------------------------------------------
// Errors

struct Error::Parts {
  Parts(ErrorMessage some, ErrorFields others) : message(std::move(some)), fields(std::move(others)) {
    if (fields.argument.empty()) {
      const std::string& subject = message.subject;  // for example "other weights" or "--other-weights"
      fields.argument = subject.substr(std::min(subject.find_first_not_of('-'), subject.size()));
      std::ranges::replace_if(
          fields.argument, [](char letter) { return letter == ' ' || letter == '-'; }, '_');
    }
    what = whole_text(message, fields, spelled_in_cpp);
  }

  ErrorMessage message;
  ErrorFields fields;
  std::string what;
};

Error::Error(const char* text) : Error(ErrorMessage(text)) {}
Error::Error(const std::string& text) : Error(ErrorMessage(text)) {}
Error::Error(ErrorMessage message, ErrorFields fields)
    : std::runtime_error(""), parts_(std::make_shared<const Parts>(std::move(message), std::move(fields))) {}

const char* Error::what() const noexcept { return parts_->what.c_str(); }

std::string Error::text(const OptionSpelling& spelling) const {
  return whole_text(parts_->message, parts_->fields, spelling);
}

std::string_view Error::code() const noexcept {
  return parts_->fields.code.empty() ? class_code() : std::string_view(parts_->fields.code);
}

const ErrorFields& Error::fields() const noexcept { return parts_->fields; }
const ErrorMessage& Error::message() const noexcept { return parts_->message; }

void Error::set_fields(ErrorFields fields) {
  parts_ = std::make_shared<const Parts>(parts_->message, std::move(fields));
}

void Error::set_message(ErrorMessage message) {
  parts_ = std::make_shared<const Parts>(std::move(message), parts_->fields);
}

// Defined here, so that the type information of each class exists only in the library. Exceptions can then be caught
// outside of the library.
Error::~Error() = default;
UsageError::~UsageError() = default;
InputError::~InputError() = default;
UnsupportedError::~UnsupportedError() = default;
OutOfMemoryError::~OutOfMemoryError() = default;
VerificationError::~VerificationError() = default;
InterruptedError::~InterruptedError() = default;
VertexError::~VertexError() = default;

// ---------------------------------------------------------------------------------------------------------------------
// Vertices

namespace {

ErrorMessage with_vertices(ErrorMessage message, const std::vector<std::int32_t>& vertices, const std::string& between,
                           const ErrorMessage& after) {
  for (std::size_t index = 0; index < vertices.size(); ++index) {
    if (index > 0) message += between;
    message += ErrorMessage(Piece{.kind = Piece::Kind::vertex, .vertex = vertices[index]});
  }
  return std::move(message += after);
}

}  // namespace

VertexError::VertexError(const ErrorMessage& before, const std::vector<std::int32_t>& vertices,
                         const std::string& between, const ErrorMessage& after, ErrorFields fields)
    : InputError(with_vertices(before, vertices, between, after), std::move(fields)) {}

std::vector<std::int32_t> VertexError::vertices() const {
  std::vector<std::int32_t> vertices;
  for (const Piece& piece : message().pieces)
    if (piece.kind == Piece::Kind::vertex) vertices.push_back(piece.vertex);
  return vertices;
}

std::string VertexError::message_with(const std::function<std::string(std::int32_t)>& called) const {
  VertexError named = *this;
  named.name_vertices(called);
  return named.what();
}

void VertexError::name_vertices(const std::function<std::string(std::int32_t)>& called) {
  ErrorMessage named = about(message().subject);
  for (const Piece& piece : message().pieces)
    named += piece.kind == Piece::Kind::vertex ? ErrorMessage(called(piece.vertex)) : ErrorMessage(piece);
  set_message(std::move(named));
}

}  // namespace gradus
