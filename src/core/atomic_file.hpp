// A text file that appears whole or not at all.
#pragma once

#include <string>
#include <string_view>

namespace gradus::core {

/// Writes `text` to a temporary file beside `path` and puts it in place in one step, so that no reader sees half of it
/// and a failure leaves what was there. A symbolic link is followed; what is no regular file (a pipe, /dev/stdout) is
/// written directly. gradus::Error with the path and the reason where that fails.
void write_atomically(const std::string& path, std::string_view text);

}  // namespace gradus::core
