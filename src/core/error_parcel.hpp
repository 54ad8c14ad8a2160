// Serialization of errors for other ranks.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace gradus::core {

/// Serializes an exception: class, text and fields. An exception from outside the library becomes an OutOfMemoryError
/// if it is std::bad_alloc, and otherwise an Error with the same text.
std::string parcel_of(const std::exception_ptr& exception);

/// Throws the error that rank `rank` serialized. `ranks` is the number of ranks.
[[noreturn]] void throw_parcel(std::string_view parcel, int rank, int ranks);

}  // namespace gradus::core
