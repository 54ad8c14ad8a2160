// Options for reading a text table.
#pragma once

#include <cstddef>

#include "files/columns.hpp"
#include "files/header.hpp"
#include "files/number.hpp"

namespace gradus::files {

/// The separator of fields. By default, the first line determines it. The candidates are, in this order: semicolon,
/// comma, tab, bar, blanks. The separator is the first candidate that occurs in the line outside of quotes. Candidates
/// are preferred if they split the line and the row below into equally many fields. A tab has priority over a comma if
/// fields between commas would contain tabs, or if numbers have decimal commas. A line "sep=;" above the table sets the
/// separator. Blanks around a field are skipped.
enum class Separator : char { detect = 0, semicolon = ';', comma = ',', tab = '\t', bar = '|', blanks = ' ' };

struct CsvOptions {
  Separator separator = Separator::detect;
  HeaderLine header = HeaderLine::automatic;
  ColumnChoice columns = {};
  NumberStyle style = {};
  Comment comment = {};
  Missing missing = Missing::error;
  bool names_matter = true;  ///< if true, a note reports a first line of numbers that may be names
  int threads = 1;
  std::size_t chunk = std::size_t{1} << 18;  ///< approximate number of bytes that a thread parses at a time
};

}  // namespace gradus::files
