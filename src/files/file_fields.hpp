// Structured fields of errors in files.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "gradus/error.hpp"

namespace gradus::files {

/// Returns the fields of an error in a file's contents. Lines and columns count from 1; 0 means unknown.
inline ErrorFields fields_of_file(std::string_view name, std::size_t line = 0, std::size_t column = 0) {
  ErrorFields fields{.code = error_code::file_format, .file = std::string(name)};
  if (line > 0) fields.row = static_cast<std::int64_t>(line);
  if (column > 0) fields.column = static_cast<std::int64_t>(column);
  return fields;
}

/// Returns the fields of an error at a byte of a file, counted from 0.
inline ErrorFields fields_at_byte(std::string_view name, std::size_t byte) {
  ErrorFields fields = fields_of_file(name);
  fields.byte = static_cast<std::int64_t>(byte);
  return fields;
}

}  // namespace gradus::files
