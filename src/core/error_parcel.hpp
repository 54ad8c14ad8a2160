// Errors on their way to other ranks.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace gradus::core {

/// Packs any exception: its class, text and fields. One that is not of the library becomes an Error with its text, or
/// an OutOfMemoryError.
std::string parcel_of(const std::exception_ptr& exception);

/// Throws the error of a parcel that `rank` of `ranks` has packed.
[[noreturn]] void throw_parcel(std::string_view parcel, int rank, int ranks);

}  // namespace gradus::core
