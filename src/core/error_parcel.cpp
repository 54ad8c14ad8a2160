#include "core/error_parcel.hpp"

#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <type_traits>

#include "gradus/error.hpp"

namespace gradus::core {

namespace {

enum class Kind : std::uint8_t { error, usage, input, unsupported, memory, verification, interrupted };

template <class SomeError>
bool is(const Error& error) {
  return dynamic_cast<const SomeError*>(&error) != nullptr;
}

Kind kind_of(const Error& error) {
  return is<UsageError>(error)          ? Kind::usage
         : is<InputError>(error)        ? Kind::input
         : is<UnsupportedError>(error)  ? Kind::unsupported
         : is<OutOfMemoryError>(error)  ? Kind::memory
         : is<VerificationError>(error) ? Kind::verification
         : is<InterruptedError>(error)  ? Kind::interrupted
                                        : Kind::error;
}

[[noreturn]] void throw_as(Kind kind, const ErrorMessage& message, const ErrorFields& fields) {
  switch (kind) {
    case Kind::usage: throw UsageError(message, fields);
    case Kind::input: throw InputError(message, fields);
    case Kind::unsupported: throw UnsupportedError(message, fields);
    case Kind::memory: throw OutOfMemoryError(message, fields);
    case Kind::verification: throw VerificationError(message, fields);
    case Kind::interrupted: throw InterruptedError(message, fields);
    case Kind::error: break;
  }
  throw Error(message, fields);
}

class Packer {
 public:
  template <class Number>
    requires(std::is_arithmetic_v<Number> || std::is_enum_v<Number>)
  void operator()(const Number& number) { bytes_.append(reinterpret_cast<const char*>(&number), sizeof(number)); }
  void operator()(const std::string& text) {
    (*this)(text.size());
    bytes_ += text;
  }
  std::string bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : rest_(bytes) {}
  template <class Number>
    requires(std::is_arithmetic_v<Number> || std::is_enum_v<Number>)
  void operator()(Number& number) {
    std::memcpy(&number, rest_.data(), sizeof(number));
    rest_.remove_prefix(sizeof(number));
  }
  void operator()(std::string& text) {
    std::size_t size = 0;
    (*this)(size);
    text = rest_.substr(0, size);
    rest_.remove_prefix(size);
  }

 private:
  std::string_view rest_;
};

/// Passes every part of an error to a visitor. The visitor is a packer or an unpacker. Both receive the parts in the
/// same order.
template <class Visitor, class Number>
void visit(Visitor& visitor, std::optional<Number>& number) {
  bool known = number.has_value();
  visitor(known);
  if (!known) return;
  if (!number) number.emplace();
  visitor(*number);
}

template <class Visitor>
void visit(Visitor& visitor, ErrorMessage& message) {
  visitor(message.subject);
  std::size_t count = message.pieces.size();
  visitor(count);
  message.pieces.resize(count);
  for (ErrorMessage::Piece& piece : message.pieces) {
    visitor(piece.kind);
    visitor(piece.words);
    visitor(piece.option.name);
    visitor(piece.option.value);
    visitor(piece.option.kind);
    visitor(piece.vertex);
  }
}

template <class Visitor>
void visit(Visitor& visitor, ErrorFields& fields) {
  for (std::string* text :
       {&fields.code, &fields.argument, &fields.file, &fields.value, &fields.allowed, &fields.context})
    visitor(*text);
  for (std::optional<std::int64_t>* number : {&fields.row, &fields.column, &fields.byte}) visit(visitor, *number);
  visit(visitor, fields.remedy);
  visit(visitor, fields.rank);
  visitor(fields.ranks);
}

std::string parcel(Kind kind, ErrorMessage message, ErrorFields fields) {
  Packer packer;
  packer(kind);
  visit(packer, message);
  visit(packer, fields);
  return packer.bytes_;
}

}  // namespace

std::string parcel_of(const std::exception_ptr& exception) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    return parcel(kind_of(error), error.message(), error.fields());
  } catch (const std::bad_alloc&) {
    return parcel(Kind::memory, "the system has no memory left for the job", {});
  } catch (const std::exception& error) {
    return parcel(Kind::error, error.what(), {});
  } catch (...) {
    return parcel(Kind::error, "something unknown was thrown", {});
  }
}

void throw_parcel(std::string_view parcel, int rank, int ranks) {
  Unpacker unpacker(parcel);
  Kind kind = Kind::error;
  ErrorMessage message;
  ErrorFields fields;
  unpacker(kind);
  visit(unpacker, message);
  visit(unpacker, fields);
  if (!fields.rank) {
    fields.rank = rank;
    fields.ranks = ranks;
  }
  throw_as(kind, message, fields);
}

}  // namespace gradus::core
