// Options for reading a text table.
#pragma once

#include <cstddef>

#include "files/columns.hpp"
#include "files/header.hpp"
#include "files/number.hpp"

namespace gradus::files {

/// The separator of fields. By default, the first line determines it: the candidates are semicolon, comma, tab, bar and
/// blanks, in this order, and the first candidate that the line contains outside of quotes is the separator. Separators
/// that give the first line and the row below it the same number of fields are preferred. A tab has priority over a
/// comma if fields between commas would contain tabs, or if decimals follow a comma. A line "sep=;" above the table
/// sets the separator. Blanks around a field are skipped.
enum class Separator : char { detect = 0, semicolon = ';', comma = ',', tab = '\t', bar = '|', blanks = ' ' };

struct CsvOptions {
  Separator separator = Separator::detect;
  HeaderLine header = HeaderLine::automatic;
  ColumnChoice columns = {};
  NumberStyle style = {};
  Comment comment = {};
  Missing missing = Missing::error;
  bool names_matter = true;  ///< messages report a first line of numbers that may be names
  int threads = 1;
  std::size_t chunk = std::size_t{1} << 18;  ///< approximate number of bytes that a thread parses at a time
};

}  // namespace gradus::files
